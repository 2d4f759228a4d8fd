import type { Doc } from '../checkpoints/engine.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { DEFAULT_DOCUMENT_BYTES, LISTED_DOCUMENT_BYTES, MAX_DOCUMENT_BYTES } from '../http/limits.ts';
import type { ApprovalDocument } from '../operator/approval-document.ts';
import { explainReady } from '../operator/explain-ready.ts';
import type { DiffView, RunView } from '../operator/operator.ts';
import type { TimelinePage } from '../operator/timeline-page.ts';
import { truncateToBytes } from '../operator/truncated-document.ts';

const truncateOptional = (doc: Doc | undefined, bytes: number): Doc | undefined =>
  doc === undefined ? undefined : truncateToBytes(doc, bytes).value;

/** A run, with input and result truncated to fit a response. */
export const runResponse = ({ input, result, ...view }: RunView, agents: readonly string[]): object => ({
  ...view,
  ...omitUndefined({
    ready: explainReady(view, agents),
    input: truncateOptional(input, MAX_DOCUMENT_BYTES / 2),
    result: truncateOptional(result, MAX_DOCUMENT_BYTES / 2),
  }),
});

/** An approval, with each document truncated to the given size. */
export function approvalResponse(
  { show, facts, changed, ...view }: ApprovalDocument,
  bytes = MAX_DOCUMENT_BYTES / 2,
): object {
  return {
    ...view,
    ...omitUndefined({ show: truncateOptional(show, bytes), facts: truncateOptional(facts, bytes) }),
    ...(changed && {
      changed: { before: truncateOptional(changed.before, bytes), after: truncateOptional(changed.after, bytes) },
    }),
  };
}

/** A list of approvals, with truncated documents, and votes without comments and edits. */
export const approvalsResponse = (approvals: readonly ApprovalDocument[]): object => ({
  approvals: approvals.map((approval) =>
    approvalResponse({ ...approval, ...listedForms(approval), votes: listedVotes(approval) }, LISTED_DOCUMENT_BYTES),
  ),
});

/** Proposals, answers and schemas that are small enough for a list. A question always has a schema. */
function listedForms({ proposal, answer, answerSchema, editsSchema }: ApprovalDocument): Partial<ApprovalDocument> {
  const truncated = (value: unknown) => truncateOptional(value as Doc, LISTED_DOCUMENT_BYTES);
  const isLarge = (schema: unknown) => Buffer.byteLength(JSON.stringify(schema) ?? '') > LISTED_DOCUMENT_BYTES;
  return {
    ...(proposal && { proposal: { ...proposal, edits: truncated(proposal.edits) } }),
    ...(answer && { answer: { ...answer, value: truncated(answer.value) } }),
    ...(answerSchema && isLarge(answerSchema) && { answerSchema: {} }),
    ...(editsSchema && isLarge(editsSchema) && { editsSchema: {} }),
  };
}

/** The votes of an approval without comments, edits and answers. */
export const listedVotes = ({ votes }: Pick<ApprovalDocument, 'votes'>): ApprovalDocument['votes'] =>
  votes.map(({ by, for: person, as, answer, at, counts }) => ({
    by,
    ...omitUndefined({ for: person, as }),
    answer,
    at,
    counts,
  }));

/** A part of a timeline, with the versions of checkpoints instead of the checkpoints. */
export const timelineResponse = ({ spans, ...page }: TimelinePage): object => ({
  ...page,
  spans: spans.map(({ checkpoint, ...span }) => ({ ...span, ...(checkpoint && { version: checkpoint.version }) })),
});

const MAX_CHANGES = 500;

/** A diff that fits a response: at most 500 changes of each kind, each truncated. */
export function diffResponse({ added, removed, changed, text }: DiffView): object {
  let isComplete =
    text.length <= DEFAULT_DOCUMENT_BYTES && [added, removed, changed].every(({ length }) => length <= MAX_CHANGES);
  const fairShare = Math.floor(MAX_DOCUMENT_BYTES / (added.length + removed.length + 2 * changed.length + 1));
  const truncate = (doc: Doc): Doc => {
    const truncated = truncateToBytes(doc, Math.max(200, Math.min(fairShare, DEFAULT_DOCUMENT_BYTES)));
    isComplete &&= truncated.isComplete;
    return truncated.value;
  };
  const toChange = ({ path, value }: { path: string; value: Doc }) => ({ path, value: truncate(value) });
  return {
    added: added.slice(0, MAX_CHANGES).map(toChange),
    removed: removed.slice(0, MAX_CHANGES).map(toChange),
    changed: changed
      .slice(0, MAX_CHANGES)
      .map(({ path, before, after }) => ({ path, before: truncate(before), after: truncate(after) })),
    text: text.slice(0, DEFAULT_DOCUMENT_BYTES),
    isComplete,
  };
}
