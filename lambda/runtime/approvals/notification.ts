import { writeEach } from '../../checkpoints/engine.ts';
import { type ApprovalMeta, checkPerson, isGroup, type Person } from '../../core/approval.ts';
import { currentVotes } from '../../core/approval-votes.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { ApprovalNotification } from '../definition/approval-notification.ts';
import { readApprovalDocument } from './approval-content.ts';
import type { FoundApproval } from './find-approval.ts';
import { createToken } from './tokens.ts';

/** Notifies the approvers of an approval; if it throws, it is called again later. */
export type Notify = (notification: ApprovalNotification) => Promise<void>;

/** How approval links are made. */
export interface LinkOptions {
  /** The URL that links begin with. @default no links are made */
  readonly url?: string | undefined;
  /** The members of a group. @default groups get no links */
  readonly members?: ((group: string) => Promise<readonly string[]>) | undefined;
}

/** Creates the notification that is due for an approval, with a new link for each person who can still decide. */
export async function createNotification(found: FoundApproval, options: LinkOptions): Promise<ApprovalNotification> {
  const { at, approval, head } = found;
  const { agent, name, requestedAt, deadline, approvers, pendingNotification = 'requested' } = approval.meta;
  // Not decoded into values: the notifier need not know the classes of what is shown.
  const { title } = await readApprovalDocument(at, await found.cipher(), approval);
  return {
    kind: pendingNotification,
    tenant: at.tenant,
    run: at.run,
    approval: approval.id,
    name,
    title,
    approvers,
    isEncrypted: head.key !== undefined,
    requestedAt: new Date(requestedAt),
    links: options.url === undefined ? [] : await createLinks(found, options.url, options.members),
    ...omitUndefined({ agent, deadline: deadline === undefined ? undefined : new Date(deadline) }),
  };
}

async function createLinks(
  { at, approval: { id, meta }, head: { uid } }: FoundApproval,
  url: string,
  members: LinkOptions['members'],
): Promise<ApprovalNotification['links']> {
  const { tenant, run } = at;
  const expiresAt = linkExpiresAt(meta, at.now());
  const people = await peopleToNotify(meta, members);
  const links = [...people].map(([person, as]) => ({
    person,
    ...createToken(at, { tenant, run, approval: id, person, as, expiresAt }, uid),
  }));
  await writeEach(
    at,
    links.map(({ write }) => write),
  );
  const base = /[/=#]$/.test(url) ? url : `${url}/`;
  return links.map(({ person, token }) => ({ person, url: `${base}${token}` }));
}

/** The people who have not voted on what is decided on now, each with the group through which they are approvers; undefined if by name. */
async function peopleToNotify(
  { approvers, votes }: Pick<ApprovalMeta, 'approvers' | 'votes'>,
  members: LinkOptions['members'],
): Promise<ReadonlyMap<Person, string | undefined>> {
  const people = new Map<Person, string | undefined>();
  for (const person of approvers) if (!isGroup(person)) people.set(person, undefined);
  for (const group of members ? approvers.filter(isGroup) : []) {
    for (const member of (await members?.(group)) ?? []) {
      const person = checkPerson(`Each member of "${group}"`, member);
      if (!people.has(person)) people.set(person, group);
    }
  }
  for (const { by } of currentVotes({ votes })) people.delete(by);
  return people;
}

const DAY_MS = 24 * 3_600_000;
// Long enough for people to see the outcome.
const LINK_TTL_AFTER_DEADLINE_MS = 7 * DAY_MS;
const LINK_TTL_WITHOUT_DEADLINE_MS = 30 * DAY_MS;

/** When a link expires. The deadline of the approval, which an escalation can extend, is checked separately. */
const linkExpiresAt = ({ deadline, timeoutMs = 0, onTimeout }: ApprovalMeta, now: number): number =>
  deadline === undefined
    ? now + LINK_TTL_WITHOUT_DEADLINE_MS
    : deadline + (onTimeout === 'escalate' ? timeoutMs : 0) + LINK_TTL_AFTER_DEADLINE_MS;
