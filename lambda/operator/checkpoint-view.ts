import type { CheckpointSelector, Doc, LoadedCheckpoint, RunContext } from '../checkpoints/engine.ts';
import {
  compare,
  decodeOptions,
  history,
  isPayload,
  loadCheckpoint,
  type Payload,
  payloadRefs,
  render,
  toCheckpointSummary,
} from '../checkpoints/engine.ts';
import { WaitstateError } from '../core/errors.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { readApprovalDocument } from '../runtime/approvals/approval-content.ts';
import { findApproval } from '../runtime/approvals/find-approval.ts';
import { checkLimit } from './check-limit.ts';
import type { CheckpointView, DiffView, HistoryPage, HistoryQuery, PayloadSource } from './operator.ts';
import { diffRecordedResults, listRecordedResults, type RecordedResult } from './recorded-results.ts';

/** A checkpoint with its content as documents. */
export async function loadCheckpointView(
  at: RunContext,
  which: CheckpointSelector | undefined,
): Promise<CheckpointView> {
  const loaded = await loadCheckpoint(at, which);
  const { root, record, model, head } = loaded;
  return {
    ...toCheckpointSummary(at.run, record),
    state: root.state,
    toolResults: resultsOf(loaded),
    payloads: [...payloadRefs(root).values()],
    isDurable: head.meta.work !== undefined,
    ...omitUndefined({ model }),
  };
}

/** The results of a checkpoint by id, as documents. */
function resultsOf({ root }: LoadedCheckpoint): Readonly<Record<string, Doc>> {
  const results = Object.values(root.results).flatMap((group) => Object.entries(group));
  return Object.fromEntries(results.map(([id, doc]) => [id.replace(/^\$/, ''), doc]));
}

const recordedIn = (loaded: LoadedCheckpoint): readonly RecordedResult[] =>
  listRecordedResults({ toolResults: resultsOf(loaded), isDurable: loaded.head.meta.work !== undefined });

const MOST_CHECKPOINTS = 1000;

/** A page of a run's checkpoints without their content. */
export async function loadHistoryPage(at: RunContext, query: HistoryQuery): Promise<HistoryPage> {
  const { limit = 100, ...options } = query;
  checkLimit(limit, MOST_CHECKPOINTS);
  const checkpoints = await Array.fromAsync(history(at, { ...options, limit: limit + 1 }));
  const next = checkpoints.length > limit ? checkpoints.pop()?.version : undefined;
  return { checkpoints, ...omitUndefined({ next }) };
}

/** What changed in the state from one checkpoint to another, and what was recorded between them. */
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
    recorded: diffRecordedResults(recordedIn(from), recordedIn(to)),
  };
}

/** A payload that a checkpoint or an approval points at; refuses any other. */
export async function loadPayload(at: RunContext, from: PayloadSource, id: string): Promise<Payload> {
  const { where, doc, cipher } =
    'version' in from ? await contentOf(at, from.version) : await shownIn(at, from.approval);
  const ref = payloadRefs(doc).get(id);
  const payload = ref && decodeOptions(at, { cipher: cipher }).payload(ref);
  if (isPayload(payload)) return payload;
  throw new WaitstateError(
    'CHECKPOINT_NOT_FOUND',
    `${where} of run "${at.run}" points at no payload "${id}". The ids of payloads are in what it holds.`,
  );
}

async function contentOf(at: RunContext, which: CheckpointSelector | undefined) {
  const { root, record, cipher } = await loadCheckpoint(at, which);
  return { where: `Checkpoint ${record.version}`, doc: root as Doc, cipher };
}

async function shownIn(at: RunContext, approval: string) {
  const found = await findApproval(at, approval);
  const cipher = await found.cipher();
  return { where: `Approval "${approval}"`, doc: await readApprovalDocument(at, cipher, found.approval), cipher };
}
