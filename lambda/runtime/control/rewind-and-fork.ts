import type { CheckpointSelector } from '../../checkpoints/engine.ts';
import {
  append,
  currentState,
  decodeResults,
  encodeValues,
  type ForkOptions,
  loadCheckpoint,
  retryOnConflict,
  StaleVersionError,
  savedState,
  toBase,
} from '../../checkpoints/engine.ts';
import { fork, forkId } from '../../checkpoints/operations/operations.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { ConditionFailedError } from '../../storage/ports.ts';
import { rawEntries } from '../journal/append-entries.ts';
import { type BranchCount, branchesToRecount } from '../journal/branch-count.ts';
import { CURSOR_ID, type Entry, hasSettled } from '../journal/entries.ts';
import { deliver, type Runtime } from '../runtime.ts';
import { hasSameApprovals, NO_WORK, readyWork, restartedWork } from '../wake/work.ts';
import { withdrawWritesById } from './end-run.ts';
import { cancelledCalls } from './run-control.ts';

export interface RewindOptions {
  /**
   * New idempotency keys for the steps that run again: services then take them for new work. @default false: they
   * recognise what they did before
   */
  readonly newKeys?: boolean;
  /** Another state to go on with. @default that of the checkpoint */
  readonly state?: unknown;
}

/**
 * Lets a run go on from an earlier checkpoint. Whoever runs it loses it, its open approvals are withdrawn, and what it
 * waited for then it waits for anew.
 */
export async function rewindRun(
  runtime: Runtime,
  run: string,
  to: CheckpointSelector,
  { newKeys = false, ...edited }: RewindOptions = {},
): Promise<void> {
  const at = await runtime.contexts.forRun(run);
  await retryOnConflict(async () => {
    const newest = await loadCheckpoint(at);
    const source = await loadCheckpoint(at, to);
    currentState(at, source);
    const { work, agent } = newest.head.meta;
    // What was undone since then is to be done again, and services must not take it for what they did before.
    const undone = new Set(rawEntries(newest).flatMap(([id]) => (id.startsWith(UNDO) ? id.slice(UNDO.length) : [])));
    // Children that were cancelled with the run are called anew.
    const called = await cancelledCalls(at, rawEntries(newest));
    const settled = settledOnly(decodeResults(at, source) as Entries);
    const redone = new Set([...undone].flatMap((id) => [id, ...recountedIn(settled, id)]));
    const root = await encodeValues(at, newest.cipher, newest.root, {
      state: Object.hasOwn(edited, 'state') ? edited.state : savedState(at, source),
      toolResults: Object.fromEntries(Object.entries(settled).filter(([id]) => !redone.has(id.replace(/^@kept:/, '')))),
      forgetToolResults: true,
    });
    const { step, stepNumber, schema } = source.record.meta;
    await append(at, toBase(newest), {
      ...{ root, model: source.model, schema, kind: 'rewind', status: 'READY', step, stepNumber },
      restored: source.record.version,
      sideWrites: await withdrawWritesById(at, work?.approvals ?? [], 'The run was rewound.'),
      head: (there) => {
        if (!hasSameApprovals(there.work, work)) throw new StaleVersionError(run, there.version, undefined);
        const before = there.work ?? NO_WORK;
        const epoch = (before.epoch ?? 0) + (newKeys || undone.size + called.length > 0 ? 1 : 0);
        return { work: { ...restartedWork(before, at.now()), epoch } };
      },
    }).catch((error) => {
      throw error instanceof ConditionFailedError
        ? new StaleVersionError(run, newest.record.version, undefined)
        : error;
    });
    await deliver(runtime, { tenant: at.tenant, run, agent });
  });
}

/** Begins a new run at a checkpoint of another; it goes on by itself, with keys of its own. Gives its id. */
export async function forkRun(runtime: Runtime, run: string, options: ForkOptions = {}): Promise<string> {
  const id = options.id ?? forkId(run);
  const [from, to] = await Promise.all([runtime.contexts.forRun(run), runtime.contexts.forRun(id)]);
  const { toolResults, ...rest } = options;
  const loaded = await fork(
    from,
    to,
    { ...rest, status: 'READY' },
    {
      mapResults: (results) => {
        const { [CURSOR_ID]: _, ...settled } = settledOnly(results as Entries);
        const given = replaced(settled, toolResults);
        const recounted = new Set(Object.keys(given).flatMap((id) => recountedIn(settled, id)));
        const kept = Object.entries(settled).filter(([id]) => !recounted.has(id));
        return { ...Object.fromEntries(kept), ...given };
      },
      work: { ...readyWork(NO_WORK, to.now()), edited: true },
    },
  );
  await deliver(runtime, { tenant: to.tenant, run: id, agent: loaded.head.meta.agent });
  return id;
}

/** The entries of operations that are to have other results. */
function replaced(entries: Entries, results: ForkOptions['toolResults'] = {}): Entries {
  const given = Object.entries(results).map(([id, value]) => {
    const there = entries[id];
    if (!there || id.startsWith('@'))
      throw invalidInput('`toolResults`', 'results of operations that are recorded at the checkpoint', id);
    const { error: _, cached: __, ...entry } = there;
    return [id, { ...entry, value }];
  });
  return Object.fromEntries(given);
}

type Entries = Readonly<Record<string, Entry>>;

/** The branches whose count is found out anew because an operation in them has another result, or runs again. */
const recountedIn = (entries: Entries, id: string): readonly string[] =>
  branchesToRecount(id, (branches) => entries[branches]?.value as BranchCount | undefined);

const UNDO = '@undo:';

// How a run ended, and that it was being undone, is not where it goes on from.
const ENDS = /^@(result|error|undo:)/;

/** What was over at a checkpoint; what it waited for belongs to that time. */
const settledOnly = (entries: Entries): Entries =>
  Object.fromEntries(
    Object.entries(entries).filter(([id, entry]) => !ENDS.test(id) && (id.startsWith('@') || hasSettled(entry))),
  );
