import { WaitstateError } from './errors.ts';
import { invalidInput } from './invalid-input.ts';
import { checkPerson, isGroup, type Person } from './person.ts';

/** Lets one person answer for another for a time. All times are in milliseconds. */
export interface Delegation {
  /** Who is away. */
  readonly person: Person;
  /** Who answers for them. */
  readonly delegate: Person;
  readonly from: number;
  /** The first moment at which the delegate can no longer answer. */
  readonly until: number;
  /** Who made the delegation, and when. */
  readonly createdBy: Person;
  readonly createdAt: number;
  /** The groups of the person whose inboxes the delegate sees. Membership is checked again for each vote. */
  readonly groups?: readonly string[] | undefined;
}

/** A delegation to make. The caller must have authenticated `createdBy`. */
export interface DelegateInput {
  /** Who is away, such as `user:ann`. */
  readonly person: Person;
  /** Who answers for them, such as `user:cho`. */
  readonly delegate: Person;
  /** When it ends; at most 366 days from now. */
  readonly until: Date;
  /** When it begins. @default now */
  readonly from?: Date | undefined;
  /** Who makes it. @default the person who is away */
  readonly createdBy?: Person | undefined;
  /** The groups of the person, so that the delegate finds their approvals in the inbox. @default none */
  readonly groups?: readonly string[] | undefined;
}

const MAX_DAYS = 366;
const MAX_MS = MAX_DAYS * 86_400_000;
const MAX_GROUPS = 100;

/** Validates a delegation to make. */
export function checkDelegation(input: DelegateInput, now: number): Delegation {
  const given = Object(input) as DelegateInput;
  const person = checkPerson('`person`', given.person);
  const delegate = checkPerson('`delegate`', given.delegate);
  if (delegate === person) throw invalidInput('`delegate`', 'another person than `person`', delegate);
  const until = toTime('`until`', given.until);
  const from = given.from === undefined ? now : toTime('`from`', given.from);
  if (until <= now) throw invalidInput('`until`', 'in the future', new Date(until).toISOString());
  if (until > now + MAX_MS)
    throw invalidInput('`until`', `at most ${MAX_DAYS} days from now`, new Date(until).toISOString());
  if (from >= until) throw invalidInput('`from`', 'before `until`', new Date(from).toISOString());
  const { createdBy = person, groups = [] } = given;
  if (
    !Array.isArray(groups) ||
    groups.length > MAX_GROUPS ||
    !groups.every((group) => typeof group === 'string' && isGroup(group))
  )
    throw invalidInput('`groups`', `a list of at most ${MAX_GROUPS}, such as ["group:finance"]`, groups);
  return {
    person,
    delegate,
    from: Math.max(from, now),
    until,
    createdBy: checkPerson('`createdBy`', createdBy),
    createdAt: now,
    ...(groups.length > 0 && { groups }),
  };
}

function toTime(argument: string, date: unknown): number {
  if (date instanceof Date && Number.isFinite(date.getTime())) return date.getTime();
  throw invalidInput(argument, 'a valid Date', date instanceof Date ? 'an invalid Date' : date);
}

/** Whether the delegate can answer at this time. */
export const isActive = ({ from, until }: Pick<Delegation, 'from' | 'until'>, now: number): boolean =>
  from <= now && now < until;

/** Refuses a delegation to someone who is away at the same time and delegated to this person: nobody would answer. */
export function checkNotMutual({ person, delegate, from, until }: Delegation, other: Delegation | undefined): void {
  if (other?.delegate !== person || other.until <= from || other.from >= until) return;
  throw invalidInput(
    '`delegate`',
    `someone else, because ${delegate} is away until ${new Date(other.until).toISOString()} and named ${person} to answer`,
    delegate,
  );
}

/** The error for a vote for someone who has not delegated it, or not for this time. */
export function noDelegation(by: string, person: string, found?: Delegation, now = 0): WaitstateError {
  const isOwn = found?.delegate === by;
  const why =
    isOwn && now < found.from
      ? `can answer for "${person}" only from ${new Date(found.from).toISOString()}`
      : isOwn
        ? `could answer for "${person}" only until ${new Date(found.until).toISOString()}`
        : `cannot answer for "${person}": the delegation does not exist, or it has ended`;
  return new WaitstateError('NOT_AN_APPROVER', `"${by}" ${why}. Ask ${person} or another approver to decide.`);
}

/** A person who voted, such as `user:cho`, or `user:cho for user:ann`. */
export const voterName = ({ by, for: person }: { readonly by: string; readonly for?: string | undefined }): string =>
  person === undefined ? by : `${by} for ${person}`;
