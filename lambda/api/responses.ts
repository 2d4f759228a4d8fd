import type { Doc } from '../checkpoints/engine.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { DEFAULT_DOCUMENT_BYTES, LISTED_DOCUMENT_BYTES, MAX_DOCUMENT_BYTES } from '../http/limits.ts';
import type { ApprovalDocument } from '../operator/approval-document.ts';
import type { DiffView, RunView } from '../operator/operator.ts';
import { truncateToBytes } from '../operator/truncated-document.ts';

const short = (doc: Doc | undefined, bytes: number): Doc | undefined =>
  doc === undefined ? undefined : truncateToBytes(doc, bytes).value;

/** A run whose input and result fit an answer. */
export const runResponse = ({ input, result, ...view }: RunView): object => ({
  ...view,
  ...omitUndefined({ input: short(input, MAX_DOCUMENT_BYTES / 2), result: short(result, MAX_DOCUMENT_BYTES / 2) }),
});

/** An approval whose documents fit an answer; in a list each has less room. */
export function approvalResponse(
  { show, facts, changed, ...view }: ApprovalDocument,
  bytes = MAX_DOCUMENT_BYTES / 2,
): object {
  return {
    ...view,
    ...omitUndefined({ show: short(show, bytes), facts: short(facts, bytes) }),
    ...(changed && { changed: { before: short(changed.before, bytes), after: short(changed.after, bytes) } }),
  };
}

/** Approvals in a list: what they show is shortened, and of votes there is who gave which. */
export const approvalsResponse = (approvals: readonly ApprovalDocument[]): object => ({
  approvals: approvals.map(({ votes, ...approval }) => {
    const given = votes.map(({ comment: _, edits: __, ...vote }) => vote);
    return approvalResponse({ ...approval, votes: given }, LISTED_DOCUMENT_BYTES);
  }),
});

const MOST_CHANGES = 500;

/** A difference that fits an answer: at most so many changes of each kind, each shortened. */
export function diffResponse({ added, removed, changed, text }: DiffView): object {
  let isWhole =
    text.length <= DEFAULT_DOCUMENT_BYTES && [added, removed, changed].every(({ length }) => length <= MOST_CHANGES);
  const most = Math.floor(MAX_DOCUMENT_BYTES / (added.length + removed.length + 2 * changed.length + 1));
  const fitting = (doc: Doc): Doc => {
    const piece = truncateToBytes(doc, Math.max(200, Math.min(most, DEFAULT_DOCUMENT_BYTES)));
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
    text: text.slice(0, DEFAULT_DOCUMENT_BYTES),
    isWhole,
  };
}
