import { compare, render } from '../checkpoints/documents.ts';
import {
  type CheckpointSelector,
  type Doc,
  decodeOptions,
  history,
  isPayload,
  type LoadedCheckpoint,
  loadCheckpoint,
  type Payload,
  payloadRefs,
  type RunContext,
  toCheckpointSummary,
} from '../checkpoints/engine.ts';
import { WaitstateError } from '../core/errors.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { readApprovalDocument } from '../runtime/approvals/approval-content.ts';
import { findApproval } from '../runtime/approvals/find-approval.ts';
import { checkLimit } from './check-limit.ts';
import type { CheckpointView, DiffView, HistoryPage, HistoryQuery, PayloadSource } from './operator.ts';
import { diffRecordedResults, listRecordedResults, type RecordedResult } from './recorded-results.ts';

/** Loads a checkpoint with its content as documents. */
export async function loadCheckpointView(
  at: RunContext,
  which: CheckpointSelector | undefined,
): Promise<CheckpointView> {
  const loaded = await loadCheckpoint(at, which);
  const { root, record, model, head } = loaded;
  return {
    ...toCheckpointSummary(at.run, record),
    state: root.state,
    toolResults: flattenResults(loaded),
    payloads: [...payloadRefs(root).values()],
    isDurable: head.meta.work !== undefined,
    ...omitUndefined({ model }),
  };
}

/** The results of a checkpoint by id, without their groups. */
function flattenResults({ root }: LoadedCheckpoint): Readonly<Record<string, Doc>> {
  const results = Object.values(root.results).flatMap((group) => Object.entries(group));
  return Object.fromEntries(results.map(([id, doc]) => [id.replace(/^\$/, ''), doc]));
}

const recordedResultsOf = (loaded: LoadedCheckpoint): readonly RecordedResult[] =>
  listRecordedResults({ toolResults: flattenResults(loaded), isDurable: loaded.head.meta.work !== undefined });

const MAX_CHECKPOINTS = 1000;

/** Loads a page of a run's checkpoints without their content. */
export async function loadHistoryPage(at: RunContext, query: HistoryQuery): Promise<HistoryPage> {
  const { limit = 100, ...options } = query;
  checkLimit(limit, MAX_CHECKPOINTS);
  const checkpoints = await Array.fromAsync(history(at, { ...options, limit: limit + 1 }));
  const next = checkpoints.length > limit ? checkpoints.pop()?.version : undefined;
  return { checkpoints, ...omitUndefined({ next }) };
}

/** Compares the state and the recorded results of two checkpoints. */
export async function loadDiffView(
  at: RunContext,
  before: CheckpointSelector | undefined,
  after: CheckpointSelector | undefined,
): Promise<DiffView> {
  const [from, to] = [await loadCheckpoint(at, before), await loadCheckpoint(at, after)];
  const compared = compare(from.root.state, to.root.state);
  return {
    added: compared.added.map(({ path, value }) => ({ path, value })),
    removed: compared.removed.map(({ path, value }) => ({ path, value })),
    changed: compared.changed.map((change) => ({ path: change.path, before: change.before, after: change.after })),
    text: render(compared),
    recorded: diffRecordedResults(recordedResultsOf(from), recordedResultsOf(to)),
  };
}

/** Loads a payload that a checkpoint or an approval points at; throws CHECKPOINT_NOT_FOUND for any other id. */
export async function loadPayload(at: RunContext, from: PayloadSource, id: string): Promise<Payload> {
  const { where, doc, cipher } =
    'version' in from ? await loadCheckpointContent(at, from.version) : await loadApprovalContent(at, from.approval);
  const ref = payloadRefs(doc).get(id);
  const payload = ref && decodeOptions(at, { cipher }).payload(ref);
  if (isPayload(payload)) return payload;
  throw new WaitstateError(
    'CHECKPOINT_NOT_FOUND',
    `${where} of run "${at.run}" has no payload "${id}". The ids of its payloads are in its content.`,
  );
}

async function loadCheckpointContent(at: RunContext, which: CheckpointSelector | undefined) {
  const { root, record, cipher } = await loadCheckpoint(at, which);
  return { where: `Checkpoint ${record.version}`, doc: root as Doc, cipher };
}

async function loadApprovalContent(at: RunContext, approval: string) {
  const found = await findApproval(at, approval);
  const cipher = await found.cipher();
  const { answerSchema: _answer, editsSchema: _edits, ...doc } = await readApprovalDocument(at, cipher, found.approval);
  return { where: `Approval "${approval}"`, doc, cipher };
}
