import { decoding } from '../checkpoints/content.ts';
import type { RunContext } from '../checkpoints/context.ts';
import { compare } from '../checkpoints/document/compare.ts';
import type { Doc } from '../checkpoints/document/document.ts';
import { payloadRefs } from '../checkpoints/document/payloads.ts';
import { render } from '../checkpoints/document/render.ts';
import { summaryOf } from '../checkpoints/format/records.ts';
import { history } from '../checkpoints/history.ts';
import { type Opened, open, type Which } from '../checkpoints/load.ts';
import { isPayload, type Payload } from '../checkpoints/payload.ts';
import { WaitstateError } from '../core/errors.ts';
import { present } from '../core/omit-undefined.ts';
import { approvalDoc } from '../runtime/approvals/approval-content.ts';
import { findApproval } from '../runtime/approvals/change.ts';
import { checkLimit } from './check-limit.ts';
import type { CheckpointView, DifferenceView, HistoryPage, HistoryQuery, PayloadPlace } from './operator.ts';
import { type Recorded, recordedBetween, recordedOf } from './recorded-results.ts';

/** A checkpoint with its content as documents. */
export async function checkpointView(at: RunContext, which: Which | undefined): Promise<CheckpointView> {
  const opened = await open(at, which);
  const { root, record, model, head } = opened;
  return {
    ...summaryOf(at.run, record),
    state: root.state,
    toolResults: resultsOf(opened),
    payloads: [...payloadRefs(root).values()],
    isDurable: head.meta.work !== undefined,
    ...present({ model }),
  };
}

/** The results of a checkpoint by id, as documents. */
function resultsOf({ root }: Opened): Readonly<Record<string, Doc>> {
  const results = Object.values(root.results).flatMap((group) => Object.entries(group));
  return Object.fromEntries(results.map(([id, doc]) => [id.replace(/^\$/, ''), doc]));
}

const recordedIn = (opened: Opened): readonly Recorded[] =>
  recordedOf({ toolResults: resultsOf(opened), isDurable: opened.head.meta.work !== undefined });

const MOST_CHECKPOINTS = 1000;

/** A page of a run's checkpoints without their content. */
export async function historyPage(at: RunContext, query: HistoryQuery): Promise<HistoryPage> {
  const { limit = 100, ...options } = query;
  checkLimit(limit, MOST_CHECKPOINTS);
  const checkpoints = await Array.fromAsync(history(at, { ...options, limit: limit + 1 }));
  const next = checkpoints.length > limit ? checkpoints.pop()?.version : undefined;
  return { checkpoints, ...present({ next }) };
}

/** What changed in the state from one checkpoint to another, and what was recorded between them. */
export async function differenceView(
  at: RunContext,
  before: Which | undefined,
  after: Which | undefined,
): Promise<DifferenceView> {
  const [from, to] = [await open(at, before), await open(at, after)];
  const compared = compare(from.root.state, to.root.state);
  return {
    added: compared.added.map(({ path, value }) => ({ path, value })),
    removed: compared.removed.map(({ path, value }) => ({ path, value })),
    changed: compared.changed.map((change) => ({ path: change.path, before: change.before, after: change.after })),
    text: render(compared),
    recorded: recordedBetween(recordedIn(from), recordedIn(to)),
  };
}

/** A payload that a checkpoint or an approval points at; refuses any other. */
export async function payloadIn(at: RunContext, from: PayloadPlace, id: string): Promise<Payload> {
  const { where, doc, sealing } =
    'version' in from ? await contentOf(at, from.version) : await shownIn(at, from.approval);
  const ref = payloadRefs(doc).get(id);
  const payload = ref && decoding(at, { sealing }).payload(ref);
  if (isPayload(payload)) return payload;
  throw new WaitstateError(
    'CHECKPOINT_NOT_FOUND',
    `${where} of run "${at.run}" points at no payload "${id}". The ids of payloads are in what it holds.`,
  );
}

async function contentOf(at: RunContext, which: Which | undefined) {
  const { root, record, sealing } = await open(at, which);
  return { where: `Checkpoint ${record.version}`, doc: root as Doc, sealing };
}

async function shownIn(at: RunContext, approval: string) {
  const found = await findApproval(at, approval);
  const sealing = await found.sealing();
  return { where: `Approval "${approval}"`, doc: await approvalDoc(at, sealing, found.approval), sealing };
}
