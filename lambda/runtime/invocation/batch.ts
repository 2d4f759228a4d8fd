import type { Doc, ModelParameters, RuntimeMeta } from '../../checkpoints/engine.ts';
import { isWaitstateError, type WaitstateError } from '../../core/errors.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { Status } from '../../core/status.ts';
import { ConditionFailedError, type Write } from '../../storage/ports.ts';
import type { JournalChange } from '../journal/append-entries.ts';
import { FAILED_LABEL, NOTE_LABEL, TOOK_LABEL, UNDONE_LABEL, WAITS_LABEL } from '../journal/checkpoint-labels.ts';
import type { Entry } from '../journal/entries.ts';
import type { FailedStep } from '../journal/failed-step.ts';
import { joinNames } from '../journal/join-names.ts';

/** Something to record with the next checkpoint. */
export interface BatchItem {
  readonly entries?: readonly (readonly [id: string, entry: Entry])[];
  /** The ids of entries to remove from the journal. */
  readonly forget?: readonly string[];
  /** Changes the state that is newest at the time of the write. */
  readonly edit?: (state: unknown) => unknown;
  /** The operation that this item completes, as the history shows it. */
  readonly step?: string;
  /** The operation that had a failed attempt, as the history shows it. */
  readonly failed?: string;
  /** What this item records if that is not a step, as the history shows it: `sleep nap`. */
  readonly note?: string;
  /** When the last attempt of the operation began and ended. */
  readonly ran?: readonly [from: number, to: number];
  /** The model that the operation called. */
  readonly model?: ModelParameters;
  /** The events that the agent emitted, encoded. */
  readonly events?: readonly Doc[];
  /** A name for the checkpoint. */
  readonly name?: string;
  /** Makes the writes that belong to the same transaction; called again for each attempt. */
  readonly sideWrites?: () => Promise<readonly Write[]>;
  /**
   * The side writes are the agent's: makes the error of this item when a condition of them fails or the storage rejects
   * them, and explains a failure of the storage. Without it, a write whose condition failed is retried.
   */
  readonly writeError?: (error: WaitstateError) => Error;
  /** Changes the runtime fields of the head. */
  readonly work?: (work: RuntimeMeta) => RuntimeMeta;
  /** The new status of the run. */
  readonly status?: Status;
  /** The step at which the run failed, as lists show it. */
  readonly failedAt?: FailedStep | undefined;
  /** Whether the run may suspend with this write, because no code of the agent continues after it. */
  readonly allowsSuspend?: boolean;
}

/** An item, and the promise that settles when it is written or rejected. */
export interface QueuedItem {
  readonly item: BatchItem;
  readonly done: PromiseWithResolvers<void>;
}

/** The side writes of each item of a batch. */
export type SideWritesByItem = readonly (readonly Write[])[];

/** The edit of an item threw; nothing was written. */
export class EditFailed extends Error {
  readonly item: BatchItem;

  constructor(item: BatchItem, cause: unknown) {
    super('An edit failed.', { cause });
    this.item = item;
  }
}

/** Applies the edits of all items to a state, one after the other. */
export async function applyEdits(items: readonly BatchItem[], before: unknown): Promise<unknown> {
  let state = before;
  for (const item of items) {
    if (!item.edit) continue;
    try {
      state = await item.edit(state);
    } catch (error) {
      throw new EditFailed(item, error);
    }
  }
  return state;
}

/**
 * Merges items into the change of one checkpoint. If it suspends the run, its status says what the run waits for.
 * `since` is the time of the checkpoint before.
 */
export function mergeItems(
  items: readonly BatchItem[],
  suspension: { readonly waits?: string | undefined } | undefined,
  since: number,
): JournalChange {
  const completed = items.flatMap(({ step }) => step ?? []);
  // The step of a checkpoint is how far the run got, so undone steps are a label instead.
  const undone = completed.flatMap((id) => (id.startsWith(UNDO_PREFIX) ? id.slice(UNDO_PREFIX.length) : []));
  const steps = completed.filter((id) => !id.startsWith(UNDO_PREFIX));
  const failed = items.flatMap((item) => item.failed ?? []);
  const notes = steps.length > 0 || suspension ? [] : items.flatMap(({ note }) => note ?? []);
  const status = items.find((item) => item.status)?.status;
  const events = items.flatMap((item) => item.events ?? []);
  const labels = omitUndefined({
    [FAILED_LABEL]: joinNames(failed) || undefined,
    [UNDONE_LABEL]: joinNames(undone) || undefined,
    [NOTE_LABEL]: joinNames(notes) || undefined,
    [WAITS_LABEL]: suspension?.waits,
    [TOOK_LABEL]: tookLabel(items, since),
  });
  return {
    entries: mergeEntries(items),
    forget: items.flatMap(({ forget = [] }) => forget),
    ...(steps.length > 0 && { step: joinNames(steps), steps: steps.length }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(status && { status }),
    name: items.findLast(({ name }) => name !== undefined)?.name,
    model: items.findLast(({ model }) => model !== undefined)?.model,
    ...(events.length > 0 && { events }),
  };
}

// More names than this do not fit into the names of a checkpoint.
const MAX_TOOK = 50;

/** How long each operation took; undefined if all of them began right after the checkpoint before. */
function tookLabel(items: readonly BatchItem[], since: number): string | undefined {
  const named = [...items.filter(({ step }) => step), ...items.filter(({ step, failed }) => failed && !step)];
  const maxGap = named.length > 1 ? MAX_GAP_MS / 10 : MAX_GAP_MS;
  const beganThen = ({ ran }: BatchItem) => !ran || (ran[0] > since - MAX_CLOCK_ERROR_MS && ran[0] < since + maxGap);
  if (named.every(beganThen)) return undefined;
  return named
    .slice(0, MAX_TOOK)
    .map(({ ran: [from, to] = [0, 0] }) => to - from)
    .join();
}

// A step begins this soon after the checkpoint before, unless it waited for a retry or runs beside other ones.
const MAX_GAP_MS = 1000;
const MAX_CLOCK_ERROR_MS = 20;

/** The entries of all items; an item can remove entries of the items before it. */
function mergeEntries(items: readonly BatchItem[]): ReadonlyMap<string, Entry> {
  const all = new Map<string, Entry>();
  for (const { entries = [], forget = [] } of items) {
    for (const id of forget) all.delete(id);
    for (const [id, entry] of entries) all.set(id, entry);
  }
  return all;
}

const UNDO_PREFIX = '@undo:';

// A transaction takes at most 100 writes, and the checkpoint itself needs some of them.
const MAX_SIDE_WRITES = 95;
// Events are in the record of the checkpoint, which holds 400 KB.
const MAX_EVENT_CHARACTERS = 128 * 1024;

/**
 * How many items of a batch fit into one transaction. Only one of them may have writes of the agent, because the writes
 * of two steps could be for the same record; and a checkpoint has at most one model.
 */
export function countFitting(batch: readonly QueuedItem[], sideWrites: SideWritesByItem): number {
  let writeCount = 0;
  let agentItems = 0;
  let eventCharacters = 0;
  const models = new Set<ModelParameters>();
  const firstOver = batch.findIndex(({ item }, i) => {
    writeCount += sideWrites[i]?.length ?? 0;
    agentItems += item.writeError ? 1 : 0;
    if (item.model) models.add(item.model);
    if (item.events?.length) eventCharacters += JSON.stringify(item.events).length;
    return (
      i > 0 &&
      (writeCount > MAX_SIDE_WRITES || agentItems > 1 || models.size > 1 || eventCharacters > MAX_EVENT_CHARACTERS)
    );
  });
  return firstOver < 0 ? batch.length : firstOver;
}

/** Removes duplicate writes: two items may both withdraw the same approval. */
export function dedupeWrites(sideWrites: SideWritesByItem): SideWritesByItem {
  const keys = new Set<string>();
  const isFirst = (write: Write): boolean => {
    if ('foreign' in write) return true;
    const { partition, key } = 'put' in write ? write.put : write.remove;
    const recordKey = `${partition}\n${key}`;
    if (keys.has(recordKey)) return false;
    keys.add(recordKey);
    return true;
  };
  return sideWrites.map((writes) => writes.filter(isFirst));
}

/** Rejects the item whose edit failed, and takes it out of the batch. */
export function rejectFailedEdit(batch: QueuedItem[], { item, cause }: EditFailed): void {
  for (const queued of batch.filter((each) => each.item === item)) rejectItem(batch, queued, cause);
}

/** Rejects the items that have a side write whose condition failed, and takes them out of the batch. */
export function rejectFailedConditions(
  batch: QueuedItem[],
  sideWrites: SideWritesByItem,
  error: ConditionFailedError,
): void {
  let from = 0;
  for (const [i, queued] of [...batch].entries()) {
    const to = from + (sideWrites[i]?.length ?? 0);
    const failed = [...error.found].filter(([index]) => index >= from && index < to);
    if (failed.length > 0 && queued.item.writeError) {
      const found = new Map(failed.map(([index, record]) => [index - from, record]));
      rejectItem(batch, queued, queued.item.writeError(new ConditionFailedError(found, error)));
    }
    from = to;
  }
}

/** Rejects the item with writes of the agent when the storage rejects the transaction; false when there is none. */
export function rejectInvalidWrites(batch: QueuedItem[], error: unknown): boolean {
  const queued = batch.find(({ item }) => item.writeError);
  if (!queued?.item.writeError || !isWaitstateError(error, 'INVALID_INPUT', 'RECORD_TOO_LARGE')) return false;
  rejectItem(batch, queued, queued.item.writeError(error));
  return true;
}

/** The error of a storage that failed, with the tables of the agent's writes, which may be the cause. */
export function explainFailure(batch: readonly QueuedItem[], error: unknown): unknown {
  const item = batch.find((queued) => queued.item.writeError)?.item;
  return isWaitstateError(error, 'STORAGE_MISSING', 'STORAGE_DENIED') ? (item?.writeError?.(error) ?? error) : error;
}

function rejectItem(batch: QueuedItem[], queued: QueuedItem, reason: unknown): void {
  batch.splice(batch.indexOf(queued), 1);
  queued.done.reject(reason);
}
