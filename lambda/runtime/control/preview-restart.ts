import {
  type CheckpointSelector,
  equal,
  history,
  type LoadedCheckpoint,
  loadCheckpoint,
  type RunContext,
} from '../../checkpoints/engine.ts';
import { rawEntries } from '../journal/append-entries.ts';
import { hasSettled } from '../journal/entries.ts';

/** A step that has run and runs again after a rewind or a fork. */
export interface RepeatedStep {
  readonly id: string;
  /** A step or tool call runs its function again; a call starts its child run again. Absent if it is no longer known. */
  readonly kind?: 'step' | 'tool' | 'call';
  /** Whether it failed before; it may have taken effect nevertheless. */
  readonly failed: boolean;
  /** Whether its code says how to undo it, and whether it was undone. A rewind or fork itself undoes nothing. */
  readonly canBeUndone: boolean;
  readonly undone: boolean;
}

/** What a rewind to a checkpoint, or a fork from it, does again. */
export interface RestartPreview {
  readonly version: number;
  /** The steps that run again, in the order in which they completed. */
  readonly steps: readonly RepeatedStep[];
  /** Whether there are more, because the history is too long to read. */
  readonly hasMore: boolean;
  /**
   * What another state changes: everything; only code after the checkpoint, because the agent replays its recorded
   * results before it; or nothing, because the agent has no state.
   */
  readonly stateChanges: 'everything' | 'later code' | 'nothing';
  /** The recorded results that a fork can replace with `toolResults`. */
  readonly replaceableResults: readonly string[];
}

type Entry = Readonly<Record<string, unknown>>;

const MAX_CHECKPOINTS = 10_000;
const EFFECTS: ReadonlySet<unknown> = new Set(['step', 'tool', 'call']);
const TURN_ID = '@turn';
const UNDO_PREFIX = '@undo:';

/** Says what a rewind or fork to a checkpoint does again, and changes nothing. It needs no code of the agent. */
export async function previewRestart(
  at: RunContext,
  to: CheckpointSelector | undefined,
  action: 'rewind' | 'fork',
): Promise<RestartPreview> {
  const newest = await loadCheckpoint(at);
  const source = to === undefined ? newest : await loadCheckpoint(at, to);
  const { version } = source.record;
  const isDurable = newest.head.meta.work !== undefined;
  const before = entriesOf(source);
  const after = entriesOf(newest);
  const completed = [...before]
    .filter(([id, entry]) => !id.startsWith('@') && hasSettled(entry))
    .toSorted(byCompletion)
    .map(([id]) => id);
  const base = {
    version,
    stateChanges: stateChanges(source, isDurable, before, completed.length > 0),
    replaceableResults: completed,
  };
  // A program without the runtime decides itself what it does again.
  if (!isDurable) return { ...base, steps: [], hasMore: false };
  const undone = new Set(
    [...after.keys()].flatMap((id) => (id.startsWith(UNDO_PREFIX) ? id.slice(UNDO_PREFIX.length) : [])),
  );
  // A rewind also runs completed steps again that were undone since.
  const isKept = (id: string): boolean => hasSettled(before.get(id) ?? {}) && !(action === 'rewind' && undone.has(id));
  const { steps, hasMore } = await recordedSteps(at, version);
  const known = [...after].filter(([id, entry]) => hasEffect(id, entry, before)).toSorted(byCompletion);
  // Steps that are no longer in the journal completed before those that are.
  const ids = new Set([...steps.filter((id) => !after.has(id)), ...known.map(([id]) => id)]);
  const toStep = (id: string): RepeatedStep => {
    const entry = after.get(id) ?? after.get(`@kept:${id}`) ?? {};
    return {
      id,
      ...(EFFECTS.has(entry.kind) && { kind: entry.kind as 'step' }),
      failed: Object.hasOwn(entry, 'error'),
      canBeUndone: entry.undo === true,
      undone: undone.has(id),
    };
  };
  return { ...base, steps: [...ids].filter((id) => !isKept(id)).map(toStep), hasMore };
}

const byCompletion = ([, a]: readonly [string, Entry], [, b]: readonly [string, Entry]): number =>
  Number(a.seq ?? Number.MAX_SAFE_INTEGER) - Number(b.seq ?? Number.MAX_SAFE_INTEGER);

const entriesOf = (loaded: LoadedCheckpoint): ReadonlyMap<string, Entry> => new Map(rawEntries(loaded));

/** Whether the operation has run code, or started a run, that may have taken effect outside. */
function hasEffect(id: string, entry: Entry, before: ReadonlyMap<string, Entry>): boolean {
  if (id.startsWith('@') || !EFFECTS.has(entry.kind)) return false;
  // A tool call that took a cached value takes it again.
  if (typeof entry.cached === 'string' && before.has(entry.cached)) return false;
  return hasSettled(entry) || entry.kind === 'call' || Number(entry.failures ?? entry.startedAttempts ?? 0) > 0;
}

function stateChanges(
  { root }: LoadedCheckpoint,
  isDurable: boolean,
  entries: ReadonlyMap<string, Entry>,
  hasResults: boolean,
): RestartPreview['stateChanges'] {
  if (!isDurable || entries.has(TURN_ID) || !hasResults) return 'everything';
  return equal(root.state, UNDEFINED) ? 'nothing' : 'later code';
}

/** The document of the state of an agent without one. */
const UNDEFINED = { $: 'undefined' };

/** The steps in the history after a version: also those of earlier turns, and of what was rewound before. */
async function recordedSteps(
  at: RunContext,
  version: number,
): Promise<{ readonly steps: readonly string[]; readonly hasMore: boolean }> {
  const steps: string[] = [];
  let count = 0;
  for await (const { step, kind } of history(at, { from: version + 1, limit: MAX_CHECKPOINTS })) {
    count += 1;
    if (step !== undefined && kind === 'save')
      steps.push(...step.split(', ').filter((id) => !/^(turn \d+$|@)/.test(id)));
  }
  return { steps, hasMore: count === MAX_CHECKPOINTS };
}
