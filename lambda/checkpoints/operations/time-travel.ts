import { isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { escapeId, MAX_ID_BYTES, unescapeId } from '../../core/ids.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { hasEnded, type Status } from '../../core/status.ts';
import { forkKey, versionKey } from '../../storage/keys.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import { append, createBase, toBase } from '../append.ts';
import type { CheckpointKind } from '../checkpoint.ts';
import { currentState, decodeResults, EMPTY_CONTENT, encodeValues, savedState, toCheckpoint } from '../content.ts';
import type { RunContext } from '../context.ts';
import { applyEdit, type Edit } from '../draft.ts';
import type { RuntimeMeta } from '../format/meta.ts';
import { randomId, readCheckpoint } from '../format/records.ts';
import { metaOnlyRecord, sideMeta } from '../format/side-record.ts';
import { findCheckpoint, loadCheckpoint } from '../load.ts';
import type { CheckpointSelector, LoadedCheckpoint } from '../loaded-checkpoint.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';
import { damagedError } from '../run-errors.ts';
import { checkSaveFields, type SaveFields } from '../save.ts';
import { shownVersion } from './fence.ts';

type ForkOverrides = Pick<
  SaveFields,
  'status' | 'labels' | 'writeId' | 'agent' | 'owner' | 'tags' | 'retentionSeconds'
>;

/** Where a fork begins, and what is different in it. */
export interface ForkOptions<State = unknown> extends ForkOverrides {
  /** The checkpoint to begin with, by version or by name. @default the newest */
  readonly version?: number;
  readonly name?: string;
  /** The id of the new run. @default made from the old one */
  readonly id?: string;
  /** Changes the state that the fork begins with. */
  readonly edit?: Edit<State>;
  /** Changes or adds tool results that the fork begins with. */
  readonly toolResults?: Readonly<Record<string, unknown>>;
}

/** An id for a fork that shows what it is of, cut where that would be too long. */
export function forkId(run: string): string {
  const end = `-fork-${randomId().slice(0, 8)}`;
  const fits = escapeId('run', run).length + end.length <= MAX_ID_BYTES;
  return (fits ? run : Array.from(run).slice(0, 20).join('')) + end;
}

/** A fork, as a record of the run that it is of names it. */
export function parseForkRecord(stored: StoredRecord): {
  readonly run: string;
  readonly born: string;
  readonly version: number;
} {
  const [run = '', born = ''] = stored.key.slice(1).split(' ');
  return { run: unescapeId(run), born, version: Number(sideMeta(stored).version) };
}

/** What is different in a fork that the runtime goes on with. */
export interface DurableFork {
  readonly mapResults: (results: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  readonly work: RuntimeMeta;
}

/** Begins a new run with the content of a checkpoint. It stands alone: its own snapshot, its own copies of payloads. */
export async function fork<State>(
  from: RunContext,
  to: RunContext,
  options: ForkOptions<State>,
  durable?: DurableFork,
): Promise<LoadedCheckpoint> {
  const { version, name, edit, toolResults, status, labels, writeId } = options;
  checkSaveFields({ ...options, name: undefined });
  if (version !== undefined && name !== undefined)
    throw invalidInput('The origin of a fork', 'a version or a name', { version, name });
  const source = await loadCheckpoint(from, version ?? (name === undefined ? undefined : { name }));
  const checkpoint = toCheckpoint<State>(from, source);
  const state = edit ? await applyEdit(checkpoint.state, edit, checkpoint) : checkpoint.state;
  const sourceHead = source.head.meta;
  const head = {
    agent: options.agent ?? sourceHead.agent,
    owner: options.owner ?? sourceHead.owner,
    tags: options.tags ?? sourceHead.tags,
    retentionMs:
      options.retentionSeconds === undefined
        ? (sourceHead.retentionMs ?? to.retentionMs)
        : options.retentionSeconds * 1000,
    work: durable?.work,
  };
  const base = await createBase(to, head.owner);
  const kept = durable ? durable.mapResults(checkpoint.toolResults) : checkpoint.toolResults;
  const values = { state, toolResults: { ...kept, ...toolResults } };
  const root = await encodeValues(to, base.cipher, EMPTY_CONTENT, values).catch((error) =>
    throwCurrentReason(from, source.record.version, error),
  );
  const { step, stepNumber } = source.record.meta;
  const parent = { run: from.run, version: source.record.version };
  const { schema } = currentState(from, source);
  // So that the forks of a run are found from it; another life of the same id has another record.
  const forked = metaOnlyRecord(from, forkKey(to.run, base.record.hash), { version: parent.version, at: to.now() });
  const first = {
    root,
    model: source.model,
    schema,
    kind: 'fork' as const,
    status,
    step,
    stepNumber,
    labels,
    writeId,
    parent,
    head,
    sideWrites: [{ put: forked, when: 'absent' as const }],
  };
  try {
    return await append(to, base, first);
  } catch (cause) {
    if (!isWaitstateError(cause, 'STALE_VERSION')) throw cause;
    throw new WaitstateError('RUN_EXISTS', `There is a run "${to.run}" already; a fork needs an id of its own.`, {
      cause,
    });
  }
}

/** Appends the content of an earlier checkpoint; history stays as it is. */
export async function rewind(
  at: RunContext,
  to: CheckpointSelector,
  options: { readonly status?: Status | undefined },
): Promise<LoadedCheckpoint> {
  checkSaveFields(options);
  return retryOnConflict(async () => {
    const newest = await loadCheckpoint(at);
    return restore(at, newest, await loadCheckpoint(at, to), { kind: 'rewind', status: options.status });
  });
}

/** Appends what was there before the last change. */
export async function undo(at: RunContext): Promise<LoadedCheckpoint> {
  return retryOnConflict(async () => {
    const newest = await loadCheckpoint(at);
    const { version, meta } = newest.record;
    const shown = shownVersion(version, meta);
    const before = await previousShownVersion(at, shown);
    const nothing = `Run "${at.run}" shows the first state that it has; there is nothing before it.`;
    if (before === undefined) throw new WaitstateError('NOTHING_TO_UNDO', nothing);
    const source = await loadCheckpoint(at, before).catch((cause) => {
      throw isWaitstateError(cause, 'CHECKPOINT_PRUNED')
        ? new WaitstateError('NOTHING_TO_UNDO', nothing, { cause })
        : cause;
    });
    return restore(at, newest, source, { kind: 'undo', top: meta.top ?? shown });
  });
}

/** Appends what the last undo took away. */
export async function redo(at: RunContext): Promise<LoadedCheckpoint> {
  return retryOnConflict(async () => {
    const newest = await loadCheckpoint(at);
    const { version, meta } = newest.record;
    const next = await findUndoneVersion(at, shownVersion(version, meta), meta.top);
    if (next === undefined) {
      throw new WaitstateError('NOTHING_TO_REDO', `Nothing was undone in run "${at.run}" since its last change.`);
    }
    return restore(at, newest, await loadCheckpoint(at, next), { kind: 'redo', top: meta.top });
  });
}

/** The version that was shown before a change, or undefined when it was the first. */
async function previousShownVersion(at: RunContext, version: number): Promise<number | undefined> {
  const [stored] = version > 1 ? await at.records.read(at.partition, [versionKey(version - 1)]) : [];
  return stored && shownVersion(version - 1, readCheckpoint(stored).meta);
}

/** The change that was undone to show this version: from where undoing began, back to the one right after it. */
async function findUndoneVersion(at: RunContext, shown: number, top: number | undefined): Promise<number | undefined> {
  for (let change = top; change !== undefined; ) {
    const before = await previousShownVersion(at, change);
    if (before === shown) return change;
    // Each change is after what it was made on, or the walk would not end.
    if (before !== undefined && before >= change)
      throw damagedError(`Checkpoint ${change} of run "${at.run}"`, 'it shows a later one');
    change = before;
  }
  return undefined;
}

interface RestoreOptions {
  readonly kind: CheckpointKind;
  readonly status?: Status | undefined;
  readonly top?: number | undefined;
}

async function restore(
  at: RunContext,
  newest: LoadedCheckpoint,
  source: LoadedCheckpoint,
  { kind, status, top }: RestoreOptions,
): Promise<LoadedCheckpoint> {
  if (newest.head.meta.work) {
    throw new WaitstateError(
      'TRANSITION_REFUSED',
      `Run "${at.run}" is run by an agent, which would not know of it. Use \`rewind\` or \`fork\` of the agent's run.`,
      { scope: 'run' },
    );
  }
  // What this code cannot read is refused now, and not when it is written.
  currentState(at, source);
  // Through live values: payloads that the newest checkpoint no longer points at may be collected, so they are stored
  // anew.
  const root = await encodeValues(at, newest.cipher, newest.root, {
    state: savedState(at, source),
    toolResults: decodeResults(at, source),
    forgetToolResults: true,
  }).catch((error) => throwCurrentReason(at, source.record.version, error));
  const { meta, version } = source.record;
  const { step, stepNumber, labels, schema } = meta;
  return append(at, toBase(newest), {
    root,
    model: source.model,
    schema,
    kind,
    // A wait belongs to the moment it was in: going back to it means to run again from there.
    status: status ?? (hasEnded(meta.status) ? meta.status : 'RUNNING'),
    step,
    stepNumber,
    labels,
    restored: version,
    top,
  });
}

/** Throws what went wrong while a checkpoint was used, or the reason for it: it was pruned or deleted meanwhile. */
async function throwCurrentReason(at: RunContext, version: number, error: unknown): Promise<never> {
  if (isWaitstateError(error, 'DAMAGED')) await findCheckpoint(at, version);
  throw error;
}
