import type { HeadMeta, RunContext } from '../../checkpoints/engine.ts';
import { writeEach } from '../../checkpoints/engine.ts';
import type { ApprovalMeta } from '../../core/approval.ts';
import { isGroup } from '../../core/approval.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { ApprovalNotification } from '../definition/approval-notification.ts';
import { readApprovalDocument } from './approval-content.ts';
import type { FoundApproval } from './change.ts';
import { createToken } from './tokens.ts';

/** Tells people of an approval; what it throws means that they were not told, and it is asked again later. */
export type Notify = (notice: ApprovalNotification) => Promise<void>;

/** How links are made. */
export interface LinkOptions {
  /** What links begin with. @default no links are made */
  readonly url?: string | undefined;
  /** Who is in a group. @default groups get no links */
  readonly members?: ((group: string) => Promise<readonly string[]>) | undefined;
}

/** A notice of what people must be told, with a new link for each of them. */
export async function createNotification(
  at: RunContext,
  found: FoundApproval,
  options: LinkOptions,
): Promise<ApprovalNotification> {
  const { approval, head } = found;
  const { agent, name, askedAt, deadline, approvers, tell = 'asked' } = approval.meta;
  // Not made live: who tells people need not know the classes of what is shown.
  const { title } = await readApprovalDocument(at, await found.cipher(), approval);
  return {
    ...{ kind: tell, tenant: at.tenant, run: at.run, approval: approval.id, name, title, approvers },
    isEncrypted: head.key !== undefined,
    askedAt: new Date(askedAt),
    links: options.url === undefined ? [] : await linksOf(at, approval.id, approval.meta, head, options.url, options),
    ...omitUndefined({ agent, deadline: deadline === undefined ? undefined : new Date(deadline) }),
  };
}

async function linksOf(
  at: RunContext,
  approval: string,
  meta: ApprovalMeta,
  { born }: HeadMeta,
  url: string,
  { members }: LinkOptions,
): Promise<ApprovalNotification['links']> {
  const { tenant, run } = at;
  const expiresAt = linkEnd(meta, at.now());
  const people = await peopleOf(meta, members);
  const made = [...people].map(([person, as]) => ({
    person,
    ...createToken(at, { tenant, run, approval, person, as, expiresAt }, born),
  }));
  await writeEach(
    at,
    made.map(({ write }) => write),
  );
  const base = /[/=#]$/.test(url) ? url : `${url}/`;
  return made.map(({ person, token }) => ({ person, url: `${base}${token}` }));
}

/** Those who have not answered yet, with the group through which they are asked; by name goes first. */
async function peopleOf(
  { approvers, votes }: ApprovalMeta,
  members: LinkOptions['members'],
): Promise<ReadonlyMap<string, string | undefined>> {
  const people = new Map<string, string | undefined>();
  for (const person of approvers) if (!isGroup(person)) people.set(person, undefined);
  for (const group of members ? approvers.filter(isGroup) : []) {
    for (const person of (await members?.(group)) ?? []) if (!people.has(person)) people.set(person, group);
  }
  for (const { by } of votes) people.delete(by);
  return people;
}

const DAY = 24 * 3_600_000;
// Long enough to see what came of it.
const AFTER_DEADLINE_MS = 7 * DAY;
const WITHOUT_DEADLINE_MS = 30 * DAY;

/** When a link ends. It is no deadline: that one the approval keeps itself, and it may still move. */
const linkEnd = ({ deadline, timeoutMs = 0, onTimeout }: ApprovalMeta, now: number): number =>
  deadline === undefined
    ? now + WITHOUT_DEADLINE_MS
    : deadline + (onTimeout === 'escalate' ? timeoutMs : 0) + AFTER_DEADLINE_MS;
