import { type Doc, equal, type Fields, isFields } from '../checkpoints/engine.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { hasSettled, isOperationId } from '../runtime/journal/entries.ts';

/** A recorded result: a tool result, or an operation in the journal of a durable run. */
export interface RecordedResult {
  readonly id: string;
  /** The kind of operation. */
  readonly kind?: string;
  readonly value?: Doc;
  readonly error?: Doc;
  /** Why the last attempt failed, while the operation is retried. */
  readonly lastFailure?: string;
  readonly isCompleted: boolean;
}

/** The differences between the results of two checkpoints. */
export interface RecordedResultChanges {
  readonly added: readonly RecordedResult[];
  readonly removed: readonly RecordedResult[];
  readonly changed: readonly { readonly before: RecordedResult; readonly after: RecordedResult }[];
}

/** The results of a checkpoint in the order of completion, without entries that only the runtime uses. */
export function listRecordedResults({
  toolResults,
  isDurable,
}: {
  readonly toolResults: Fields;
  readonly isDurable: boolean;
}): readonly RecordedResult[] {
  const entries = Object.entries(toolResults);
  if (!isDurable) return entries.map(([id, value]) => ({ id, value, isCompleted: true }));
  return sortByCompletion(entries).flatMap(([id, entry]) =>
    isVisible(id) && isFields(entry) ? toRecordedResult(id, entry) : [],
  );
}

/** The entries of a journal in the order of completion; entries that are not completed come last. */
export const sortByCompletion = (entries: readonly (readonly [id: string, entry: Doc])[]): typeof entries =>
  entries.toSorted(([a, first], [b, second]) => completionOrder(a, first) - completionOrder(b, second));

function completionOrder(id: string, entry: Doc): number {
  if (id === '@input') return -1;
  const { seq, order } = isFields(entry) ? entry : {};
  if (typeof seq === 'number') return seq;
  // After all completed entries, in the order in which the waits began.
  const isLast = id.startsWith('@');
  return (isLast ? 2 : 1) * AFTER_COMPLETED + (typeof order === 'number' ? order : 0);
}

const AFTER_COMPLETED = 1e9;

// The effect of an update is visible in the state. The Python client records the order of its operations as journal/1 …
const isVisible = (id: string): boolean =>
  (isOperationId(id) && !/^(@(update|checkpoint)|journal\/)/.test(id)) || /^@(input|result|error|undo:)/.test(id);

function toRecordedResult(id: string, entry: Readonly<Record<string, Doc>>): RecordedResult {
  // A decision has no `value` until the facts are checked again.
  const { kind, decided, value = decided, error, lastFailure } = entry;
  const isCompleted = hasSettled(entry) || id.startsWith('@');
  const text = (doc: Doc | undefined): string | undefined => (typeof doc === 'string' ? doc : undefined);
  return { id, isCompleted, ...omitUndefined({ kind: text(kind), value, error, lastFailure: text(lastFailure) }) };
}

/** Compares the results of two checkpoints by id. */
export function diffRecordedResults(
  before: readonly RecordedResult[],
  after: readonly RecordedResult[],
): RecordedResultChanges {
  const [old, now] = [before, after].map((all) => new Map(all.map((each) => [each.id, each])));
  return {
    added: after.filter(({ id }) => !old?.has(id)),
    removed: before.filter(({ id }) => !now?.has(id)),
    changed: after.flatMap((each) => {
      const there = old?.get(each.id);
      return !there || isSameResult(there, each) ? [] : [{ before: there, after: each }];
    }),
  };
}

const isSameResult = (a: RecordedResult, b: RecordedResult): boolean =>
  a.isCompleted === b.isCompleted &&
  a.lastFailure === b.lastFailure &&
  equal(a.value, b.value) &&
  equal(a.error, b.error);
