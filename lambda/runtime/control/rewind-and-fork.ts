import {
  append,
  type CheckpointSelector,
  currentState,
  decodeResults,
  encodeValues,
  type ForkOptions,
  type LoadedCheckpoint,
  loadCheckpoint,
  retryOnConflict,
  StaleVersionError,
  savedState,
  toBase,
} from '../../checkpoints/engine.ts';
import { fork, forkId } from '../../checkpoints/operations/operations.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { ConditionFailedError } from '../../storage/ports.ts';
import { countTime, rawEntries } from '../journal/append-entries.ts';
import { type BranchCount, branchesToRecount } from '../journal/branch-count.ts';
import { CURSOR_ID, type Entry, hasSettled } from '../journal/entries.ts';
import { deliver, type Runtime } from '../runtime.ts';
import { hasSameApprovals, NO_WORK, readyWork, restartedWork } from '../wake/work.ts';
import { withdrawWritesById } from './end-run.ts';
import { cancelledCalls } from './run-control.ts';

/** Options of a rewind. */
export interface RewindOptions {
  /**
   * Gives steps that run again new idempotency keys, so that services treat them as new requests. @default false:
   * services recognize requests that they have already processed
   */
  readonly newKeys?: boolean;
  /** Another state to resume with. @default the state of the checkpoint */
  readonly state?: unknown;
}

/**
 * Resumes a run from an earlier checkpoint. An invocation that is running it is fenced, its pending approvals are
 * withdrawn, and the waits that were pending at the checkpoint start again.
 */
export async function rewindRun(
  runtime: Runtime,
  run: string,
  to: CheckpointSelector,
  { newKeys = false, ...edits }: RewindOptions = {},
): Promise<LoadedCheckpoint> {
  const at = await runtime.contexts.forRun(run);
  return retryOnConflict(async () => {
    const newest = await loadCheckpoint(at);
    const source = await loadCheckpoint(at, to);
    currentState(at, source);
    const { work, agent } = newest.head.meta;
    // Steps that were undone run again, with new idempotency keys so that services do not treat them as duplicates.
    const undone = new Set(
      rawEntries(newest).flatMap(([id]) => (id.startsWith(UNDO_PREFIX) ? id.slice(UNDO_PREFIX.length) : [])),
    );
    // Children that were cancelled with the run are started again.
    const cancelledCallIds = await cancelledCalls(at, rawEntries(newest));
    const settled = settledOnly(decodeResults(at, source) as Entries);
    const toRunAgain = new Set([...undone].flatMap((id) => [id, ...recountedBranches(settled, id)]));
    const root = await encodeValues(at, newest.cipher, newest.root, {
      state: Object.hasOwn(edits, 'state') ? edits.state : savedState(at, source),
      toolResults: Object.fromEntries(
        Object.entries(settled).filter(([id]) => !toRunAgain.has(id.replace(/^@kept:/, ''))),
      ),
      forgetToolResults: true,
    });
    const { step, stepNumber, schema } = source.record.meta;
    const rewound = await append(at, toBase(newest), {
      root,
      model: source.model,
      schema,
      kind: 'rewind',
      status: 'READY',
      step,
      stepNumber,
      restored: source.record.version,
      sideWrites: await withdrawWritesById(at, work?.approvals ?? [], 'The run was rewound.'),
      head: (current) => {
        if (!hasSameApprovals(current.work, work)) throw new StaleVersionError(run, current.version, undefined);
        const currentWork = current.work ?? NO_WORK;
        const epoch = (currentWork.epoch ?? 0) + (newKeys || undone.size + cancelledCallIds.length > 0 ? 1 : 0);
        return countTime(at, newest, current, { work: { ...restartedWork(currentWork, at.now()), epoch } });
      },
    }).catch((error) => {
      throw error instanceof ConditionFailedError
        ? new StaleVersionError(run, newest.record.version, undefined)
        : error;
    });
    await deliver(runtime, { tenant: at.tenant, run, agent });
    return rewound;
  });
}

/**
 * Starts a new run from a checkpoint of another, independent of it and with its own idempotency keys; returns its id.
 */
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
        const { [CURSOR_ID]: _cursor, ...settled } = settledOnly(results as Entries);
        const replacements = replaceResults(settled, toolResults);
        const recounted = new Set(Object.keys(replacements).flatMap((id) => recountedBranches(settled, id)));
        const kept = Object.entries(settled).filter(([id]) => !recounted.has(id));
        return { ...Object.fromEntries(kept), ...replacements };
      },
      work: { ...readyWork(NO_WORK, to.now()), edited: true },
    },
  );
  await deliver(runtime, { tenant: to.tenant, run: id, agent: loaded.head.meta.agent });
  return id;
}

/** The entries of the operations whose results are replaced. */
function replaceResults(entries: Entries, results: ForkOptions['toolResults'] = {}): Entries {
  const replacements = Object.entries(results).map(([id, value]) => {
    const existing = entries[id];
    if (!existing || id.startsWith('@'))
      throw invalidInput('`toolResults`', 'ids of operations that are recorded at the checkpoint', id);
    const { error: _error, cached: _cached, ...entry } = existing as Entry & { readonly cached?: string };
    return [id, { ...entry, value }];
  });
  return Object.fromEntries(replacements);
}

type Entries = Readonly<Record<string, Entry>>;

/** The enclosing branches to count again because an operation in them has another result, or runs again. */
const recountedBranches = (entries: Entries, id: string): readonly string[] =>
  branchesToRecount(id, (branches) => entries[branches]?.value as BranchCount | undefined);

const UNDO_PREFIX = '@undo:';

// The end of a run and its undo entries are not carried over: the run resumes before them.
const END_IDS = /^@(result|error|undo:)/;

/** The entries that were settled at a checkpoint; pending waits are not carried over. */
const settledOnly = (entries: Entries): Entries =>
  Object.fromEntries(
    Object.entries(entries).filter(([id, entry]) => !END_IDS.test(id) && (id.startsWith('@') || hasSettled(entry))),
  );
