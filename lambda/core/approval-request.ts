import { type Duration, toPositiveMs } from './duration.ts';
import type { JsonSchema } from './forms/json-schema.ts';
import { invalidInput } from './invalid-input.ts';
import { type Approver, checkApprover, isGroup, type Person } from './person.ts';

/** What happens to an approval that is still pending at its deadline. */
export type OnTimeout = 'reject' | 'approve' | 'fail' | 'escalate';

/** An approval request: what approvers see, who they are, and how long they have. */
export interface ApprovalRequest {
  /** What you ask for, in 1 to 500 characters. */
  readonly title: string;
  /** What approvers see and decide on. */
  readonly show?: unknown;
  /** The approvers: `user:ann`, or all members of `group:finance`. 1 to 40. */
  readonly approvers: readonly Approver[];
  /** The number of approvals needed; a single rejection rejects the request. @default 1 */
  readonly quorum?: number;
  /**
   * Whether anyone can vote for a group whose members nobody knows. Otherwise, a login, a portal or the agent's `members`
   * hook must say who its members are. @default false
   */
  readonly openGroups?: boolean;
  /** Whether the person who requested the run cannot vote. The run must have been started with `requestedBy`. @default false */
  readonly excludeRequester?: boolean;
  /** How long approvers have to decide. @default no deadline */
  readonly timeout?: Duration;
  /** The interval between reminders. @default no reminders */
  readonly remindAfter?: Duration;
  /** Additional approvers when nobody decides in time. At most 20. @default none */
  readonly escalateTo?: readonly Approver[];
  /** When the request escalates to them. @default after half the timeout; at its end with `onTimeout: 'escalate'` */
  readonly escalateAfter?: Duration;
  /** What happens when nobody decides in time. @default 'reject' */
  readonly onTimeout?: OnTimeout;
  /** The facts that the decision depends on, by name. */
  readonly facts?: Readonly<Record<string, unknown>>;
  /** Whether approvers may edit what they approve: `true`, or the schema that their edits must match. @default false */
  readonly editable?: unknown;
  /** The JSON Schema of the edits, from which approvers get a form. @default any JSON */
  readonly editsSchema?: JsonSchema;
  /** The JSON Schema of the answer, which makes the request a question. @default a request to approve or reject */
  readonly answerSchema?: JsonSchema;
}

/** The members of groups of approvers, by group. */
export type GroupMembers = Readonly<Record<string, readonly Person[]>>;

/** The validated terms of a request, with all times in milliseconds. */
export interface ApprovalTerms {
  readonly approvers: readonly Approver[];
  readonly quorum: number;
  readonly openGroups?: true;
  readonly excludeRequester?: true;
  readonly timeoutMs: number | undefined;
  readonly remindAfterMs: number | undefined;
  readonly escalateAfterMs: number | undefined;
  readonly escalateTo: readonly Approver[] | undefined;
  readonly onTimeout: OnTimeout;
  readonly editable: boolean;
  /** Whether an approval must carry an answer. */
  readonly question?: true;
}

const MAX_TITLE_CHARACTERS = 500;
const MAX_APPROVERS = 40;
const MAX_ESCALATION_APPROVERS = 20;
const MAX_QUORUM = 100;

export const ON_TIMEOUT_ACTIONS: readonly OnTimeout[] = ['reject', 'approve', 'fail', 'escalate'];

/** Validates a request and returns its terms; rejects one that nobody could decide or that contradicts itself. */
export function checkApprovalRequest(request: ApprovalRequest): ApprovalTerms {
  const {
    title,
    facts,
    onTimeout = 'reject',
    editable,
    openGroups = false,
    excludeRequester = false,
    answerSchema,
  } = Object(request) as Partial<ApprovalRequest>;
  if (typeof title !== 'string' || title.length < 1 || title.length > MAX_TITLE_CHARACTERS)
    throw invalidInput('The `title` of an approval', `text of 1 to ${MAX_TITLE_CHARACTERS} characters`, title);
  if (facts !== undefined && (typeof facts !== 'object' || facts === null || Array.isArray(facts)))
    throw invalidInput('The `facts` of an approval', 'an object of facts by name', facts);
  if (typeof openGroups !== 'boolean') throw invalidInput('`openGroups`', 'true or false', openGroups);
  if (typeof excludeRequester !== 'boolean')
    throw invalidInput('`excludeRequester`', 'true or false', excludeRequester);
  if (!ON_TIMEOUT_ACTIONS.includes(onTimeout))
    throw invalidInput('`onTimeout`', ON_TIMEOUT_ACTIONS.join(', '), onTimeout);
  const question = answerSchema !== undefined;
  if (question && onTimeout === 'approve')
    throw invalidInput('`onTimeout` of a question', 'reject, fail or escalate', onTimeout);
  if (question && editable)
    throw invalidInput('`editable` of a question', 'absent, because people enter the answer', editable);
  const approvers = checkApproverList('`approvers`', request.approvers, MAX_APPROVERS);
  const escalateTo =
    request.escalateTo === undefined
      ? undefined
      : checkApproverList('`escalateTo`', request.escalateTo, MAX_ESCALATION_APPROVERS);
  return {
    approvers,
    escalateTo,
    onTimeout,
    editable: editable !== undefined && editable !== false,
    ...(openGroups && { openGroups }),
    ...(excludeRequester && { excludeRequester }),
    ...(question && { question }),
    quorum: checkQuorum(request.quorum, approvers),
    ...checkTimes(request, escalateTo, onTimeout),
  };
}

function checkApproverList(argument: string, people: unknown, max: number): readonly Approver[] {
  const expected = `a list of 1 to ${max}, such as ["user:ann", "group:finance"], without duplicates`;
  if (!Array.isArray(people) || people.length < 1 || people.length > max)
    throw invalidInput(argument, expected, people);
  const approvers = people.map((each) => checkApprover(`Each of ${argument}`, each));
  if (new Set(approvers).size < approvers.length) throw invalidInput(argument, expected, approvers);
  return approvers;
}

function checkQuorum(quorum: unknown = 1, approvers: readonly string[]): number {
  const max = approvers.some(isGroup) ? MAX_QUORUM : approvers.length;
  if (typeof quorum === 'number' && Number.isInteger(quorum) && quorum >= 1 && quorum <= max) return quorum;
  throw invalidInput('`quorum`', `a whole number from 1 to ${max}, the number of possible approvals`, quorum);
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
