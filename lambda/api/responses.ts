import type { Doc } from '../checkpoints/document/document.ts';
import { present } from '../core/omit-undefined.ts';
import { MOST_PIECE, PART_BYTES, PIECE_BYTES } from '../http/limits.ts';
import type { ApprovalDocument } from '../operator/approval-document.ts';
import type { DifferenceView, RunView } from '../operator/operator.ts';
import { shortened } from '../operator/truncated-document.ts';

const short = (doc: Doc | undefined, bytes: number): Doc | undefined =>
  doc === undefined ? undefined : shortened(doc, bytes).value;

/** A run whose input and result fit an answer. */
export const runAnswer = ({ input, result, ...view }: RunView): object => ({
  ...view,
  ...present({ input: short(input, MOST_PIECE / 2), result: short(result, MOST_PIECE / 2) }),
});

/** An approval whose documents fit an answer; in a list each has less room. */
export function approvalAnswer({ show, facts, changed, ...view }: ApprovalDocument, bytes = MOST_PIECE / 2): object {
  return {
    ...view,
    ...present({ show: short(show, bytes), facts: short(facts, bytes) }),
    ...(changed && { changed: { before: short(changed.before, bytes), after: short(changed.after, bytes) } }),
  };
}

/** Approvals in a list: what they show is shortened, and of votes there is who gave which. */
export const approvalsAnswer = (approvals: readonly ApprovalDocument[]): object => ({
  approvals: approvals.map(({ votes, ...approval }) => {
    const given = votes.map(({ comment: _, edits: __, ...vote }) => vote);
    return approvalAnswer({ ...approval, votes: given }, PART_BYTES);
  }),
});

const MOST_CHANGES = 500;

/** A difference that fits an answer: at most so many changes of each kind, each shortened. */
export function differenceAnswer({ added, removed, changed, text }: DifferenceView): object {
  let isWhole = text.length <= PIECE_BYTES && [added, removed, changed].every(({ length }) => length <= MOST_CHANGES);
  const most = Math.floor(MOST_PIECE / (added.length + removed.length + 2 * changed.length + 1));
  const fitting = (doc: Doc): Doc => {
    const piece = shortened(doc, Math.max(200, Math.min(most, PIECE_BYTES)));
    isWhole &&= piece.isWhole;
    return piece.value;
  };
  const one = ({ path, value }: { path: string; value: Doc }) => ({ path, value: fitting(value) });
  return {
    added: added.slice(0, MOST_CHANGES).map(one),
    removed: removed.slice(0, MOST_CHANGES).map(one),
    changed: changed
      .slice(0, MOST_CHANGES)
      .map(({ path, before, after }) => ({ path, before: fitting(before), after: fitting(after) })),
    text: text.slice(0, PIECE_BYTES),
    isWhole,
  };
}
