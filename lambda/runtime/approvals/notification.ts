import { type RunContext, writeEach } from '../../checkpoints/engine.ts';
import { type ApprovalMeta, type GroupMembers, isGroup, type Person } from '../../core/approval.ts';
import { hasVoted } from '../../core/approval-votes.ts';
import { isActive } from '../../core/delegation.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { isExcluded } from '../../core/requester.ts';
import type { ApprovalNotification } from '../definition/approval-notification.ts';
import { readApprovalDocument } from './approval-content.ts';
import { readDelegations } from './delegations.ts';
import type { FoundApproval } from './find-approval.ts';
import { type ListMembers, resolveMembers } from './group-members.ts';
import { type ApprovalLink, createToken } from './tokens.ts';

/** Notifies the approvers of an approval; if it throws, it is called again later. */
export type Notify = (notification: ApprovalNotification) => Promise<void>;

/** How approval links are made. */
export interface LinkOptions {
  /** The URL that links begin with. @default no links are made */
  readonly url?: string | undefined;
  /** The members of a group. @default groups get no links */
  readonly members?: ListMembers | undefined;
}

/**
 * Creates the notification that is due for an approval, with a new link for each person who can still decide. Stores the
 * current members of its groups.
 */
export async function createNotification(found: FoundApproval, options: LinkOptions): Promise<ApprovalNotification> {
  const { at, approval, head } = found;
  const { agent, name, requestedAt, deadline, approvers, pendingNotification = 'requested' } = approval.meta;
  // Not decoded into values: the notifier need not know the classes of what is shown.
  const { title } = await readApprovalDocument(at, await found.cipher(), approval);
  const members = options.members ? await resolveMembers(found, options.members) : {};
  return {
    kind: pendingNotification,
    tenant: at.tenant,
    run: at.run,
    approval: approval.id,
    name,
    title,
    approvers,
    isEncrypted: head.key !== undefined,
    ...(approval.meta.question && { isQuestion: true }),
    requestedAt: new Date(requestedAt),
    links: options.url === undefined ? [] : await createLinks(found, options.url, members),
    ...omitUndefined({ agent, deadline: deadline === undefined ? undefined : new Date(deadline) }),
  };
}

async function createLinks(
  { at, approval: { id, meta }, head: { uid } }: FoundApproval,
  url: string,
  members: GroupMembers,
): Promise<ApprovalNotification['links']> {
  const { tenant, run } = at;
  const expiresAt = linkExpiresAt(meta, at.now());
  const people = peopleToNotify(meta, members);
  const links = [...people, ...(await delegatesToNotify(at, meta, people))].map((voter) => ({
    ...voter,
    ...createToken(at, { tenant, run, approval: id, ...voter, expiresAt }, uid),
  }));
  await writeEach(
    at,
    links.map(({ write }) => write),
  );
  const base = /[/=#]$/.test(url) ? url : `${url}/`;
  return links.map(({ person, for: delegator, token }) => ({
    person,
    ...omitUndefined({ for: delegator }),
    url: `${base}${token}`,
  }));
}

/** Someone who gets a link: an approver by name, through a group (`as`), or their delegate (`for`). */
type Recipient = Pick<ApprovalLink, 'person' | 'as' | 'for'>;

/** The delegates of the people to notify, each once. Someone who can vote in their own right does not need a second link. */
async function delegatesToNotify(
  at: RunContext,
  meta: ApprovalMeta,
  people: readonly Recipient[],
): Promise<readonly Recipient[]> {
  const delegations = await readDelegations(
    at,
    people.map(({ person }) => person),
  );
  const delegates = new Map<Person, Recipient>();
  for (const { person, as } of people) {
    const found = delegations.get(person);
    if (!found || !isActive(found, at.now()) || delegates.has(found.delegate)) continue;
    const { delegate } = found;
    const isApprover = people.some((each) => each.person === delegate);
    if (!isApprover && !hasVoted(meta, delegate) && !isExcluded(meta, delegate))
      delegates.set(delegate, { person: delegate, as, for: person });
  }
  return [...delegates.values()];
}

/** The people who can vote and have not voted on what is decided on now, each with the group that makes them approvers. */
function peopleToNotify(meta: ApprovalMeta, members: GroupMembers): readonly Recipient[] {
  const groups = new Map<Person, string | undefined>();
  for (const person of meta.approvers) if (!isGroup(person)) groups.set(person, undefined);
  for (const group of meta.approvers.filter(isGroup))
    for (const person of members[group] ?? []) if (!groups.has(person)) groups.set(person, group);
  return [...groups]
    .map(([person, as]) => ({ person, as }))
    .filter(({ person }) => !hasVoted(meta, person) && !isExcluded(meta, person));
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
