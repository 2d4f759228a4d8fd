import type { Doc } from '../checkpoints/document/document.ts';
import { present } from '../core/present.ts';
import type { ApprovalDocument } from '../desk/approval-document.ts';
import type { DifferenceView, RunView } from '../desk/desk.ts';
import { pieceOf } from '../desk/piece.ts';
import { MOST_PIECE, PART_BYTES, PIECE_BYTES } from './limits.ts';

/** A document of at most so many bytes, in which cuts stand for the rest. */
const shortened = (doc: Doc | undefined, bytes: number): Doc | undefined =>
  doc === undefined ? undefined : pieceOf(doc, '', bytes)?.value;

/** A run whose input and result fit an answer. */
export const runAnswer = ({ input, result, ...view }: RunView): object => ({
  ...view,
  ...present({ input: shortened(input, MOST_PIECE / 2), result: shortened(result, MOST_PIECE / 2) }),
});

/** An approval whose documents fit an answer; in a list each has less room. */
export function approvalAnswer({ show, facts, changed, ...view }: ApprovalDocument, bytes = MOST_PIECE / 2): object {
  const { before = null, after = null } = changed ?? {};
  return {
    ...view,
    ...present({ show: shortened(show, bytes), facts: shortened(facts, bytes) }),
    ...(changed && { changed: { before: shortened(before, bytes), after: shortened(after, bytes) } }),
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
  const short = (doc: Doc): Doc => {
    const piece = pieceOf(doc, '', Math.max(200, Math.min(most, PIECE_BYTES)));
    isWhole &&= piece?.isWhole === true;
    return piece?.value ?? null;
  };
  const one = ({ path, value }: { path: string; value: Doc }) => ({ path, value: short(value) });
  return {
    added: added.slice(0, MOST_CHANGES).map(one),
    removed: removed.slice(0, MOST_CHANGES).map(one),
    changed: changed
      .slice(0, MOST_CHANGES)
      .map(({ path, before, after }) => ({ path, before: short(before), after: short(after) })),
    text: text.slice(0, PIECE_BYTES),
    isWhole,
  };
}
