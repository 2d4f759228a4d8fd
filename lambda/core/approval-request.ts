import { type Duration, toMilliseconds } from './duration.ts';
import { escapeId } from './ids.ts';
import { invalidInput } from './invalid-input.ts';

/** What becomes of an approval that nobody decides in time. */
export type OnTimeout = 'reject' | 'approve' | 'fail' | 'escalate';

/** A question to people: what they are shown, who may answer, and until when. */
export interface ApprovalRequest {
  /** What is asked, in 1 to 500 characters. */
  readonly title: string;
  /** What they decide on. */
  readonly show?: unknown;
  /** Who may answer: `user:ann`, or everybody in `group:finance`. 1 to 40. */
  readonly approvers: readonly string[];
  /** How many must approve; one rejection rejects. @default 1 */
  readonly quorum?: number;
  /** How long they have. @default for ever */
  readonly timeout?: Duration;
  /** How often they are reminded. @default never */
  readonly remindAfter?: Duration;
  /** Who is asked too when they do not answer. At most 20. @default nobody */
  readonly escalateTo?: readonly string[];
  /** When those are asked. @default after half of the timeout; at its end with `onTimeout: 'escalate'` */
  readonly escalateAfter?: Duration;
  /** What it means when nobody decides in time. @default 'reject' */
  readonly onTimeout?: OnTimeout;
  /** The facts that the decision rests on, by name. */
  readonly facts?: Readonly<Record<string, unknown>>;
  /** Whether an approver may change what is done: yes, or the schema that changes must fit. @default false */
  readonly editable?: unknown;
}

/** The terms of a request, checked, with all times in milliseconds. */
export interface ApprovalTerms {
  readonly approvers: readonly string[];
  readonly quorum: number;
  readonly timeoutMs: number | undefined;
  readonly remindAfterMs: number | undefined;
  readonly escalateAfterMs: number | undefined;
  readonly escalateTo: readonly string[] | undefined;
  readonly onTimeout: OnTimeout;
  readonly editable: boolean;
}

const MAX_TITLE_CHARACTERS = 500;
const MAX_APPROVERS = 40;
const MAX_ESCALATION_APPROVERS = 20;
const MAX_QUORUM = 100;

export const ON_TIMEOUT_ACTIONS: readonly OnTimeout[] = ['reject', 'approve', 'fail', 'escalate'];

/** Whether an approver is everybody in a group. */
export const isGroup = (approver: string): boolean => approver.startsWith('group:');

/** The terms of a request; refuses one that nobody could answer or that contradicts itself. */
export function checkApprovalRequest(request: ApprovalRequest): ApprovalTerms {
  const { title, facts, onTimeout = 'reject', editable } = Object(request) as Partial<ApprovalRequest>;
  if (typeof title !== 'string' || title.length < 1 || title.length > MAX_TITLE_CHARACTERS)
    throw invalidInput('The `title` of an approval', `text of 1 to ${MAX_TITLE_CHARACTERS} characters`, title);
  if (facts !== undefined && (typeof facts !== 'object' || facts === null || Array.isArray(facts)))
    throw invalidInput('The `facts` of an approval', 'an object of facts by name', facts);
  if (!ON_TIMEOUT_ACTIONS.includes(onTimeout))
    throw invalidInput('`onTimeout`', ON_TIMEOUT_ACTIONS.join(', '), onTimeout);
  const approvers = checkApproverList('`approvers`', request.approvers, MAX_APPROVERS);
  const escalateTo =
    request.escalateTo === undefined
      ? undefined
      : checkApproverList('`escalateTo`', request.escalateTo, MAX_ESCALATION_APPROVERS);
  return {
    ...{ approvers, escalateTo, onTimeout, editable: editable !== undefined && editable !== false },
    quorum: checkQuorum(request.quorum, approvers),
    ...checkTimes(request, escalateTo, onTimeout),
  };
}

function checkApproverList(argument: string, people: unknown, max: number): readonly string[] {
  const expected = `a list of 1 to ${max}, such as ["user:ann", "group:finance"], without duplicates`;
  if (!Array.isArray(people) || people.length < 1 || people.length > max)
    throw invalidInput(argument, expected, people);
  for (const person of people) checkApprover(person);
  if (new Set(people).size < people.length) throw invalidInput(argument, expected, people);
  return [...people];
}

/** Refuses a name that no approver can have. */
export function checkApprover(name: unknown): string {
  escapeId('approver', name);
  if (name === 'group:') throw invalidInput('A group', 'named, such as "group:finance"', name);
  return name as string;
}

function checkQuorum(quorum: unknown = 1, approvers: readonly string[]): number {
  const max = approvers.some(isGroup) ? MAX_QUORUM : approvers.length;
  if (typeof quorum === 'number' && Number.isInteger(quorum) && quorum >= 1 && quorum <= max) return quorum;
  throw invalidInput('`quorum`', `a whole number from 1 to ${max}, the most who can answer`, quorum);
}

function checkTimes(
  request: ApprovalRequest,
  escalateTo: readonly string[] | undefined,
  onTimeout: OnTimeout,
): Pick<ApprovalTerms, 'timeoutMs' | 'remindAfterMs' | 'escalateAfterMs'> {
  const timeoutMs = toPositiveMs('`timeout`', request.timeout);
  const remindAfterMs = toPositiveMs('`remindAfter`', request.remindAfter);
  const givenEscalateAfterMs = toPositiveMs('`escalateAfter`', request.escalateAfter);
  if (onTimeout === 'escalate' && (!escalateTo || timeoutMs === undefined))
    throw invalidInput("An approval with `onTimeout: 'escalate'`", 'given `escalateTo` and `timeout`', request);
  if (givenEscalateAfterMs !== undefined && !escalateTo)
    throw invalidInput('`escalateAfter`', 'given with `escalateTo`', givenEscalateAfterMs);
  if (givenEscalateAfterMs !== undefined && timeoutMs !== undefined && givenEscalateAfterMs >= timeoutMs)
    throw invalidInput('`escalateAfter`', 'shorter than `timeout`', request.escalateAfter);
  const halfTimeoutMs = timeoutMs === undefined || onTimeout === 'escalate' ? undefined : Math.ceil(timeoutMs / 2);
  const escalateAfterMs = escalateTo && (givenEscalateAfterMs ?? halfTimeoutMs);
  if (escalateTo && escalateAfterMs === undefined && onTimeout !== 'escalate')
    throw invalidInput('`escalateTo`', 'given with `escalateAfter` or `timeout`', escalateTo);
  return { timeoutMs, remindAfterMs, escalateAfterMs };
}

function toPositiveMs(argument: string, duration: Duration | undefined): number | undefined {
  if (duration === undefined) return undefined;
  const milliseconds = toMilliseconds(argument, duration);
  if (milliseconds < 1) throw invalidInput(argument, 'longer than nothing', duration);
  return milliseconds;
}
