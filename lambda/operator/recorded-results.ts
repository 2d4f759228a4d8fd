import { type Doc, equal, type Fields, isFields } from '../checkpoints/engine.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { hasSettled, isOperationId } from '../runtime/journal/entries.ts';

/** What is recorded under an id: of a durable run, of one operation of its journal. */
export interface RecordedResult {
  readonly id: string;
  /** What kind of operation it is. */
  readonly kind?: string;
  /** What it gave. */
  readonly value?: Doc;
  /** What it failed with. */
  readonly error?: Doc;
  /** Why it failed the last time, while it is tried again. */
  readonly lastFailure?: string;
  readonly isCompleted: boolean;
}

/** What was recorded between two checkpoints. */
export interface RecordedResultChanges {
  readonly added: readonly RecordedResult[];
  readonly removed: readonly RecordedResult[];
  readonly changed: readonly { readonly before: RecordedResult; readonly after: RecordedResult }[];
}

/** What a checkpoint has recorded, in the order in which it ended; without what the runtime keeps for itself. */
export function listRecordedResults({
  toolResults,
  isDurable,
}: {
  readonly toolResults: Fields;
  readonly isDurable: boolean;
}): readonly RecordedResult[] {
  const entries = Object.entries(toolResults);
  if (!isDurable) return entries.map(([id, value]) => ({ id, value, isCompleted: true }));
  return sortByCompletion(entries).flatMap(([id, entry]) => (isTold(id) && isFields(entry) ? recorded(id, entry) : []));
}

/** The entries of a journal in the order in which they ended; what goes on comes behind them. */
export const sortByCompletion = (entries: readonly (readonly [id: string, entry: Doc])[]): typeof entries =>
  entries.toSorted(([a, first], [b, second]) => placeOf(a, first) - placeOf(b, second));

function placeOf(id: string, entry: Doc): number {
  if (id === '@input') return -1;
  const { seq, order } = isFields(entry) ? entry : {};
  if (typeof seq === 'number') return seq;
  // Far behind what has ended, in the order in which it began to wait.
  const isLast = id.startsWith('@');
  return (isLast ? 2 : 1) * BEHIND + (typeof order === 'number' ? order : 0);
}

const BEHIND = 1e9;

// What an update did is in the state.
const isTold = (id: string): boolean =>
  (isOperationId(id) && !/^@(update|checkpoint)/.test(id)) || /^@(input|result|error|undo:)/.test(id);

function recorded(id: string, entry: Readonly<Record<string, Doc>>): RecordedResult {
  // What was decided counts once the facts were looked at.
  const { kind, decided, value = decided, error, because } = entry;
  const isCompleted = hasSettled(entry) || id.startsWith('@');
  const text = (doc: Doc | undefined): string | undefined => (typeof doc === 'string' ? doc : undefined);
  return { id, isCompleted, ...omitUndefined({ kind: text(kind), value, error, lastFailure: text(because) }) };
}

/** What came, went, or is another since. */
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
      return !there || isSame(there, each) ? [] : [{ before: there, after: each }];
    }),
  };
}

const isSame = (a: RecordedResult, b: RecordedResult): boolean =>
  a.isCompleted === b.isCompleted &&
  a.lastFailure === b.lastFailure &&
  equal(a.value, b.value) &&
  equal(a.error, b.error);
