import { isDeepStrictEqual } from 'node:util';
import { type ApprovalMeta, checkPerson, isGroup, type Person, type VoteAnswer } from '../../core/approval.ts';
import { currentProposal, shownHash } from '../../core/approval-votes.ts';
import { WaitstateError } from '../../core/errors.ts';
import { invalidInput } from '../../core/invalid-input.ts';

/** A decision, without the person who makes it: a vote, or the answer to a question. */
export type AnswerInput = DecisionDetails &
  (
    | { readonly answer: VoteAnswer; readonly value?: unknown }
    | { readonly answer?: 'approve' | undefined; readonly value: unknown }
  );

interface DecisionDetails {
  /** The reason, at most 10,000 characters. */
  readonly comment?: string | undefined;
  /**
   * Changes to the request: JSON of at most 64 KB. Only for approvals that are editable. Approvals of the request
   * without these changes, or with others, do not count any more.
   */
  readonly edits?: unknown;
  /** The hash of what the approver saw; a decision on anything else is refused. */
  readonly contentHash?: string | undefined;
  /** The answer to a question: JSON of at most 64 KB. To decline, `answer` is `reject`, and there is no value. */
  readonly value?: unknown;
}

/** A decision, and who makes it. The caller must have authenticated `by` and `groups`. */
export type DecideInput = AnswerInput & Decider;

interface Decider {
  /** The id of the approval. */
  readonly approval: string;
  /** The person who decides, such as `user:ann`. */
  readonly by: Person;
  /**
   * The person for whom they decide, who delegated it to them. @default nobody; if `by` is not an approver, someone who
   * is and delegated it to them
   */
  readonly for?: Person | undefined;
  /** The groups that the person belongs to, such as `group:finance`, besides those that the agent lists. */
  readonly groups?: readonly string[] | undefined;
  /** `stated` if an administrator says that the person belongs to the groups; the vote records it. */
  readonly membership?: 'stated' | undefined;
}

const MAX_COMMENT_CHARACTERS = 10_000;
const MAX_EDITS_BYTES = 64 * 1024;
const MAX_EDITS_DEPTH = 100;
// A record holds 400 KB, and the last approver must still be able to decide.
const MAX_VOTES_BYTES = 200 * 1024;

/** Refuses a malformed decision before anything is read. */
export function checkDecision(input: DecideInput): void {
  const { by, for: person, groups = [], comment, edits, value, contentHash } = Object(input) as Partial<DecideInput>;
  const { answer = value === undefined ? undefined : 'approve' } = Object(input) as Partial<DecideInput>;
  checkPerson('`by`', by);
  if (person !== undefined && checkPerson('`for`', person) === by)
    throw invalidInput('`for`', 'another person than `by`', person);
  if (!Array.isArray(groups) || !groups.every((group) => typeof group === 'string' && isGroup(group)))
    throw invalidInput('`groups`', 'a list such as ["group:finance"]', groups);
  if (answer !== 'approve' && answer !== 'reject') throw invalidInput('`answer`', '"approve" or "reject"', answer);
  if (comment !== undefined && (typeof comment !== 'string' || comment.length > MAX_COMMENT_CHARACTERS))
    throw invalidInput('`comment`', `text of at most ${MAX_COMMENT_CHARACTERS} characters`, comment);
  if (contentHash !== undefined && typeof contentHash !== 'string')
    throw invalidInput('`contentHash`', 'the `contentHash` of the approval', contentHash);
  if (edits !== undefined) checkJson('`edits`', edits);
  if (value !== undefined) checkJson('`value`', value);
}

function checkJson(argument: string, edits: unknown): void {
  if (!isWithinDepth(edits, MAX_EDITS_DEPTH))
    throw invalidInput(argument, `JSON of at most ${MAX_EDITS_DEPTH} levels`, 'more');
  let text: string | undefined;
  try {
    text = JSON.stringify(edits);
  } catch {
    // It contains a BigInt or itself.
  }
  if (text === undefined || Buffer.byteLength(text) > MAX_EDITS_BYTES || !isDeepStrictEqual(JSON.parse(text), edits))
    throw invalidInput(argument, `JSON of at most ${MAX_EDITS_BYTES / 1024} KB`, edits);
}

/** Whether a value is nested at most this many levels deep; false for a value that contains itself. */
const isWithinDepth = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((inner) => isWithinDepth(inner, levels - 1)));

/**
 * Refuses a decision on something other than what was shown. `proposed` is the hash of the request with the edits of
 * this decision.
 */
export function checkShownHash(meta: ApprovalMeta, { contentHash }: AnswerInput, proposed: string | undefined): void {
  // The changes that are decided on now, sent by someone who knows them, such as their proposer whose request is retried.
  if (proposed !== undefined && proposed === currentProposal(meta)) return;
  // An answer says itself what it is about, so it does not matter which answers of others its author had seen.
  const isOfQuestion = contentHash === undefined || contentHash === meta.contentHash;
  if (meta.question && (isOfQuestion || meta.votes.some(({ proposal }) => proposal === contentHash))) return;
  const proposer = meta.votes.findLast(({ proposes }) => proposes)?.by;
  // Someone who does not say what they saw may not know the proposed changes.
  if (contentHash === undefined && proposer !== undefined && meta.status === 'PENDING')
    throw invalidInput(
      '`contentHash`',
      `the \`contentHash\` of the approval, because ${proposer} proposed changes: load the approval, and decide on what it shows`,
      undefined,
    );
  if (contentHash !== undefined && contentHash !== shownHash(meta))
    throw new WaitstateError(
      'APPROVAL_CHANGED',
      `The approval request "${meta.name}" has changed since you loaded it, so your decision was not recorded. Load the current request and decide again.`,
    );
}

/** Refuses comments and edits that make all votes of an approval too large to store. */
export function checkVotesSize({ votes }: ApprovalMeta): void {
  const bytes = votes.reduce((sum, { content = '' }) => sum + Buffer.byteLength(content), 0);
  if (bytes > MAX_VOTES_BYTES)
    throw invalidInput(
      'The comments and edits of all approvers',
      `at most ${MAX_VOTES_BYTES / 1024} KB together, so shorten yours`,
      `${bytes} bytes`,
    );
}
