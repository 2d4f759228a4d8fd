import { isDeepStrictEqual } from 'node:util';
import type { RunCipher, RunContext } from '../../checkpoints/engine.ts';
import {
  type ApprovalMeta,
  applyTimeouts,
  approvalExpired,
  castVote,
  isGroup,
  matchApprover,
  notAnApprover,
  remind as reminded,
  type VoteAnswer,
  withdraw as withdrawn,
} from '../../core/approval.ts';
import { checkApprover } from '../../core/approval-request.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { encryptVoteContent, type VoteContent } from './approval-content.ts';
import { changeApproval, type FoundApproval } from './change.ts';
import { type ApprovalView, type Show, toApprovalView } from './view.ts';

/** What an approver answers. */
export interface AnswerInput extends VoteContent {
  readonly answer: VoteAnswer;
  /** Why, in at most 10,000 characters. */
  readonly comment?: string | undefined;
  /** What is to be done otherwise: JSON of at most 64 KB, where the approval is editable. */
  readonly edits?: unknown;
  /** The hash of what the approver saw; an answer to something else is refused. */
  readonly shown?: string | undefined;
}

/** An answer, and who gives it; that they are who they say is for the caller to know. */
export interface DecideInput extends AnswerInput {
  /** The id of the approval. */
  readonly approval: string;
  readonly by: string;
  /** The groups that they are in, such as `group:finance`. */
  readonly groups?: readonly string[] | undefined;
}

/**
 * Counts an answer, once per person. The one that ends the approval wakes its run in the same transaction. Given again,
 * it gives what is recorded; another one is refused, and so is one that is late.
 */
export const decide = (at: RunContext, input: DecideInput): Promise<ApprovalView> =>
  decideAs(at, input, toApprovalView);

/** The same, shown in another way. */
export async function decideAs<View>(at: RunContext, input: DecideInput, show: Show<View>): Promise<View> {
  const { approval, by } = checkInput(input);
  let late: ApprovalMeta | undefined;
  const found = await changeApproval(at, approval, async (there) => {
    const { meta } = there.approval;
    const now = applyTimeouts(meta, at.now());
    const allowed = matchApprover(now, by, input.groups);
    if (!allowed) throw notAnApprover(now, by);
    // Written first: whoever looks next must not find it open.
    late = meta.status === 'PENDING' && now.status === 'EXPIRED' ? now : undefined;
    if (late) return late;
    refuseOther(there, input);
    const { answer } = input;
    const said = saidIn(at, await there.cipher(), there.approval.stored.key, input);
    const voted = castVote(meta, { by, ...allowed, answer, at: at.now(), ...omitUndefined({ said }) });
    if (said !== undefined) refuseTooMuch(voted);
    return voted;
  });
  if (late) throw approvalExpired(late);
  return show(at, found);
}

/** Ends an approval that nobody needs any more, and wakes its run; one that has ended stays what it is. */
export const withdraw = (at: RunContext, id: string, why: string): Promise<ApprovalView> =>
  withdrawAs(at, id, why, toApprovalView);

/** The same, shown in another way. */
export async function withdrawAs<View>(at: RunContext, id: string, why: string, show: Show<View>): Promise<View> {
  if (typeof why !== 'string' || why === '' || why.length > MAX_WHY)
    throw invalidInput('Why an approval is withdrawn', `text of 1 to ${MAX_WHY} characters`, why);
  const found = await changeApproval(at, id, ({ approval }) =>
    withdrawn(applyTimeouts(approval.meta, at.now()), why, at.now()),
  );
  return show(at, found);
}

/** Has people told once more, at the next look at what is due. */
export const remind = (at: RunContext, id: string): Promise<ApprovalView> => remindAs(at, id, toApprovalView);

/** The same, shown in another way. */
export async function remindAs<View>(at: RunContext, id: string, show: Show<View>): Promise<View> {
  const found = await changeApproval(at, id, ({ approval }) => {
    const now = applyTimeouts(approval.meta, at.now());
    return now.status === 'PENDING' ? { ...reminded(now, at.now()), tellAt: at.now() } : now;
  });
  return show(at, found);
}

const MAX_WHY = 500;
const MAX_COMMENT = 10_000;
const MAX_EDITS = 64 * 1024;
const MAX_LEVELS = 100;
// A record holds 400 KB, and who comes last must still be able to answer.
const MAX_SAID = 200 * 1024;

function checkInput(input: DecideInput): DecideInput {
  const { by, groups = [], answer, comment, edits, shown } = Object(input) as Partial<DecideInput>;
  if (isGroup(checkApprover(by))) throw invalidInput('Who decides', 'a person, not a group', by);
  if (!Array.isArray(groups) || !groups.every((group) => typeof group === 'string' && isGroup(group)))
    throw invalidInput('`groups`', 'a list such as ["group:finance"]', groups);
  if (answer !== 'approve' && answer !== 'reject') throw invalidInput('`answer`', '"approve" or "reject"', answer);
  if (comment !== undefined && (typeof comment !== 'string' || comment.length > MAX_COMMENT))
    throw invalidInput('`comment`', `text of at most ${MAX_COMMENT} characters`, comment);
  if (shown !== undefined && typeof shown !== 'string')
    throw invalidInput('`shown`', 'the hash that the view gave', shown);
  if (edits !== undefined) checkEdits(edits);
  return input;
}

function checkEdits(edits: unknown): void {
  if (!isShallow(edits, MAX_LEVELS)) throw invalidInput('`edits`', `JSON of at most ${MAX_LEVELS} levels`, 'more');
  let text: string | undefined;
  try {
    text = JSON.stringify(edits);
  } catch {
    // It has a BigInt in it, or itself.
  }
  if (text === undefined || Buffer.byteLength(text) > MAX_EDITS || !isDeepStrictEqual(JSON.parse(text), edits))
    throw invalidInput('`edits`', `JSON of at most ${MAX_EDITS / 1024} KB`, edits);
}

/** Whether a value has at most so many levels; one that holds itself has more. */
const isShallow = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1)));

function refuseOther({ approval: { meta } }: FoundApproval, { shown, edits }: DecideInput): void {
  if (shown !== undefined && shown !== meta.shown)
    throw invalidInput('`shown`', `${meta.shown}, the hash of what is asked (look at it again, then decide)`, shown);
  if (edits !== undefined && !meta.editable)
    throw invalidInput('`edits`', 'absent: this approval cannot be edited. Reject it, and say why', edits);
}

function saidIn(
  at: RunContext,
  cipher: RunCipher,
  key: string,
  { by, comment, edits }: DecideInput,
): string | undefined {
  const said = omitUndefined({ comment: comment === '' ? undefined : comment, edits });
  if (Object.keys(said).length === 0) return undefined;
  return encryptVoteContent(at, cipher, key, by, said);
}

function refuseTooMuch({ votes }: ApprovalMeta): void {
  const bytes = votes.reduce((sum, { said = '' }) => sum + Buffer.byteLength(said), 0);
  if (bytes > MAX_SAID)
    throw invalidInput('What all approvers say', `at most ${MAX_SAID / 1024} KB together; say less`, `${bytes} bytes`);
}
