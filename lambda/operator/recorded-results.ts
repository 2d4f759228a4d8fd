import { type Doc, equal, type Fields, isFields } from '../checkpoints/document/document.ts';
import { present } from '../core/omit-undefined.ts';
import { hasSettled, isOperation } from '../runtime/journal/entries.ts';

/** What is recorded under an id: of a durable run, of one operation of its journal. */
export interface Recorded {
  readonly id: string;
  /** What kind of operation it is. */
  readonly kind?: string;
  /** What it gave. */
  readonly value?: Doc;
  /** What it failed with. */
  readonly error?: Doc;
  /** Why it failed the last time, while it is tried again. */
  readonly because?: string;
  readonly isOver: boolean;
}

/** What was recorded between two checkpoints. */
export interface RecordedChanges {
  readonly added: readonly Recorded[];
  readonly removed: readonly Recorded[];
  readonly changed: readonly { readonly before: Recorded; readonly after: Recorded }[];
}

/** What a checkpoint has recorded, in the order in which it ended; without what the runtime keeps for itself. */
export function recordedOf({
  toolResults,
  isDurable,
}: {
  readonly toolResults: Fields;
  readonly isDurable: boolean;
}): readonly Recorded[] {
  const entries = Object.entries(toolResults);
  if (!isDurable) return entries.map(([id, value]) => ({ id, value, isOver: true }));
  return inOrder(entries).flatMap(([id, entry]) => (isTold(id) && isFields(entry) ? recorded(id, entry) : []));
}

/** The entries of a journal in the order in which they ended; what goes on comes behind them. */
export const inOrder = (entries: readonly (readonly [id: string, entry: Doc])[]): typeof entries =>
  entries.toSorted(([a, first], [b, second]) => placeOf(a, first) - placeOf(b, second));

function placeOf(id: string, entry: Doc): number {
  if (id === '@input') return -1;
  const { place, order } = isFields(entry) ? entry : {};
  if (typeof place === 'number') return place;
  // Far behind what has ended, in the order in which it began to wait.
  const isLast = id.startsWith('@');
  return (isLast ? 2 : 1) * BEHIND + (typeof order === 'number' ? order : 0);
}

const BEHIND = 1e9;

// What an update did is in the state.
const isTold = (id: string): boolean =>
  (isOperation(id) && !/^@(update|checkpoint)/.test(id)) || /^@(input|result|error|undo:)/.test(id);

function recorded(id: string, entry: Readonly<Record<string, Doc>>): Recorded {
  // What was decided counts once the facts were looked at.
  const { kind, decided, value = decided, error, because } = entry;
  const isOver = hasSettled(entry) || id.startsWith('@');
  const text = (doc: Doc | undefined): string | undefined => (typeof doc === 'string' ? doc : undefined);
  return { id, isOver, ...present({ kind: text(kind), value, error, because: text(because) }) };
}

/** What came, went, or is another since. */
export function recordedBetween(before: readonly Recorded[], after: readonly Recorded[]): RecordedChanges {
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

const isSame = (a: Recorded, b: Recorded): boolean =>
  a.isOver === b.isOver && a.because === b.because && equal(a.value, b.value) && equal(a.error, b.error);
