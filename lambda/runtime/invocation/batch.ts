import type { ModelParameters, RuntimeMeta } from '../../checkpoints/engine.ts';
import type { Status } from '../../core/status.ts';
import { ConditionFailedError, type Write } from '../../storage/ports.ts';
import type { JournalChange } from '../journal/append-entries.ts';
import type { Entry } from '../journal/entries.ts';

/** Something to be recorded with the next checkpoint. */
export interface BatchItem {
  readonly entries?: readonly (readonly [id: string, entry: Entry])[];
  readonly forget?: readonly string[];
  /** What becomes of the state, on top of what is there when it is written. */
  readonly edit?: (state: unknown) => unknown;
  /** The operation that it ends, as history shows it. */
  readonly step?: string;
  /** The operation of which an attempt failed, as history shows it. */
  readonly failed?: string;
  /** The model that was asked. */
  readonly model?: ModelParameters;
  /** A name for the checkpoint. */
  readonly name?: string;
  /** What is written in the same transaction; asked for anew at every try. */
  readonly sideWrites?: () => Promise<readonly Write[]>;
  /** Makes the error of the item when a condition beside it fails; without it the write is tried again. */
  readonly conditionError?: (error: ConditionFailedError) => Error;
  /** What changes in the work of the head. */
  readonly work?: (work: RuntimeMeta) => RuntimeMeta;
  /** What the run becomes. */
  readonly status?: Status;
  /** That nothing of the agent goes on when it is written. */
  readonly allowsSuspend?: boolean;
}

/** An item, and who waits for it. */
export interface QueuedItem {
  readonly item: BatchItem;
  readonly done: PromiseWithResolvers<void>;
}

/** What is written beside each item of a batch. */
export type SideWritesByItem = readonly (readonly Write[])[];

/** The edit of an item threw; nothing was written. */
export class EditFailed extends Error {
  readonly item: BatchItem;

  constructor(item: BatchItem, cause: unknown) {
    super('An edit failed.', { cause });
    this.item = item;
  }
}

/** The state after the edits of all items, one on top of the other. */
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

/** What one checkpoint changes that records all items. */
export function mergeItems(items: readonly BatchItem[]): JournalChange {
  const ended = items.flatMap(({ step }) => step ?? []);
  // A run stands at the step that it got to, not at what it took back on the way to its end.
  const undone = ended.flatMap((id) => (id.startsWith(UNDO) ? id.slice(UNDO.length) : []));
  const steps = ended.filter((id) => !id.startsWith(UNDO));
  const failed = items.flatMap((item) => item.failed ?? []);
  const status = items.find((item) => item.status)?.status;
  return {
    entries: entriesOf(items),
    forget: items.flatMap(({ forget = [] }) => forget),
    ...(steps.length > 0 && { step: titleOf(steps), steps: steps.length }),
    ...(failed.length + undone.length > 0 && {
      labels: {
        ...(failed.length > 0 && { [FAILED_LABEL]: titleOf(failed) }),
        ...(undone.length > 0 && { [UNDONE_LABEL]: titleOf(undone) }),
      },
    }),
    ...(status && { status }),
    name: items.findLast(({ name }) => name !== undefined)?.name,
    model: items.findLast(({ model }) => model !== undefined)?.model,
  };
}

/** What is recorded by all items: one takes out what those before it put in. */
function entriesOf(items: readonly BatchItem[]): ReadonlyMap<string, Entry> {
  const all = new Map<string, Entry>();
  for (const { entries = [], forget = [] } of items) {
    for (const id of forget) all.delete(id);
    for (const [id, entry] of entries) all.set(id, entry);
  }
  return all;
}

/** The labels of a checkpoint that records failed attempts, and of one that records what was undone: of which operations. */
export const FAILED_LABEL = 'failed';
export const UNDONE_LABEL = 'undone';

const UNDO = '@undo:';

const titleOf = (steps: readonly string[]): string =>
  (steps.length === 1 ? String(steps[0]) : `${steps[0]} and ${steps.length - 1} more`).slice(0, 256);

// A transaction takes 100 writes; some are of the checkpoint itself.
const MOST_BESIDE = 95;

/**
 * How many items one transaction takes: writes of an agent's own may meet those of another step, so of one step only; and
 * a checkpoint has one model.
 */
export function countFitting(batch: readonly QueuedItem[], besides: SideWritesByItem): number {
  let beside = 0;
  let own = 0;
  const models = new Set<ModelParameters>();
  const over = batch.findIndex(({ item }, i) => {
    beside += besides[i]?.length ?? 0;
    own += item.conditionError ? 1 : 0;
    if (item.model) models.add(item.model);
    return i > 0 && (beside > MOST_BESIDE || own > 1 || models.size > 1);
  });
  return over < 0 ? batch.length : over;
}

/** Each write once: two items may withdraw the same approval, then one of them does. */
export function dedupeWrites(besides: SideWritesByItem): SideWritesByItem {
  const keys = new Set<string>();
  const isFirst = (write: Write): boolean => {
    if ('foreign' in write) return true;
    const { partition, key } = 'put' in write ? write.put : write.remove;
    const name = `${partition}\n${key}`;
    return !keys.has(name) && keys.add(name) !== undefined;
  };
  return besides.map((own) => own.filter(isFirst));
}

/** Takes the item out of a batch whose edit failed. */
export function rejectFailedEdit(batch: QueuedItem[], { item, cause }: EditFailed): void {
  for (const one of batch.filter((each) => each.item === item)) takeOut(batch, one, cause);
}

/** Takes items out of a batch whose own writes were refused. */
export function rejectFailedConditions(
  batch: QueuedItem[],
  besides: SideWritesByItem,
  error: ConditionFailedError,
): void {
  let from = 0;
  for (const [i, one] of [...batch].entries()) {
    const to = from + (besides[i]?.length ?? 0);
    const own = [...error.found].filter(([place]) => place >= from && place < to);
    if (own.length > 0 && one.item.conditionError) {
      const found = new Map(own.map(([place, there]) => [place - from, there]));
      takeOut(batch, one, one.item.conditionError(new ConditionFailedError(found, error)));
    }
    from = to;
  }
}

function takeOut(batch: QueuedItem[], one: QueuedItem, why: unknown): void {
  batch.splice(batch.indexOf(one), 1);
  one.done.reject(why);
}
