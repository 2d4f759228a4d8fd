import { isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { escapeId, MAX_ID_BYTES, unescapeId } from '../../core/ids.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import type { Person } from '../../core/person.ts';
import { hasEnded, type Status } from '../../core/status.ts';
import { forkKey, versionKey } from '../../storage/keys.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import { append, createBase, toBase } from '../append.ts';
import type { CheckpointKind } from '../checkpoint.ts';
import { currentState, decodeResults, EMPTY_CONTENT, encodeValues, savedState, toCheckpoint } from '../content.ts';
import type { RunContext } from '../context.ts';
import { applyEdit, type Edit } from '../draft.ts';
import { checkSaveFields } from '../fields/check-save-fields.ts';
import { type SaveFields, toRetentionMs } from '../fields/save-fields.ts';
import type { RuntimeMeta } from '../format/meta.ts';
import { randomId, readCheckpoint } from '../format/records.ts';
import { metaOnlyRecord, sideMeta } from '../format/side-record.ts';
import { findCheckpoint, loadCheckpoint } from '../load.ts';
import type { CheckpointSelector, LoadedCheckpoint } from '../loaded-checkpoint.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';
import { damagedError } from '../run-errors.ts';
import { shownVersion } from './fence.ts';

type ForkOverrides = Pick<SaveFields, 'status' | 'labels' | 'writeId' | 'agent' | 'owner' | 'tags' | 'retention'>;

/** The origin of a fork, and what differs in it. */
export interface ForkOptions<State = unknown> extends ForkOverrides {
  /** The checkpoint to start from, by version or by name. @default the newest */
  readonly version?: number;
  readonly name?: string;
  /** The id of the new run. @default derived from the id of the original run */
  readonly id?: string;
  /** Changes the state that the fork starts with. */
  readonly edit?: Edit<State>;
  /** The person who requests the fork, if the original run does not say who requested it. A fork keeps the requester. */
  readonly requestedBy?: Person;
  /** Replaces or adds tool results in the fork. */
  readonly toolResults?: Readonly<Record<string, unknown>>;
}

/** A run id for a fork that starts with the original id, truncated if that is too long. */
export function forkId(run: string): string {
  const end = `-fork-${randomId().slice(0, 8)}`;
  const fits = escapeId('run', run).length + end.length <= MAX_ID_BYTES;
  return (fits ? run : Array.from(run).slice(0, 20).join('')) + end;
}

/** Parses the record with which a run refers to one of its forks. */
export function parseForkRecord(stored: StoredRecord): {
  readonly run: string;
  readonly uid: string;
  readonly version: number;
} {
  const [run = '', uid = ''] = stored.key.slice(1).split(' ');
  return { run: unescapeId(run), uid, version: Number(sideMeta(stored).version) };
}

/** What differs in a fork that the runtime continues. */
export interface DurableFork {
  readonly mapResults: (results: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  readonly work: RuntimeMeta;
}

/** Starts a new run with the content of a checkpoint. The fork is independent: it copies the snapshot and payloads. */
export async function fork<State>(
  from: RunContext,
  to: RunContext,
  options: ForkOptions<State>,
  durable?: DurableFork,
): Promise<LoadedCheckpoint> {
  const { version, name, edit, toolResults, status, labels, writeId } = options;
  await checkSaveFields({ ...options, name: undefined });
  if (version !== undefined && name !== undefined)
    throw invalidInput('The origin of a fork', 'a version or a name', { version, name });
  const source = await loadCheckpoint(from, version ?? (name === undefined ? undefined : { name }));
  const checkpoint = toCheckpoint<State>(from, source);
  const state = edit ? await applyEdit(checkpoint.state, edit, checkpoint) : checkpoint.state;
  const sourceHead = source.head.meta;
  const head = {
    agent: options.agent ?? sourceHead.agent,
    owner: options.owner ?? sourceHead.owner,
    requestedBy: sourceHead.requestedBy ?? options.requestedBy,
    tags: options.tags ?? sourceHead.tags,
    retentionMs: toRetentionMs(options.retention) ?? sourceHead.retentionMs ?? to.retentionMs,
    forked: true as const,
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
  // With this record, the run can list its forks. Its key has `uid`, so that a later run with the same id does not
  // match.
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
    throw new WaitstateError('RUN_EXISTS', `Run "${to.run}" already exists. Choose another id for the fork.`, {
      cause,
    });
  }
}

/** Appends the content of an earlier checkpoint; the history stays. */
export async function rewind(
  at: RunContext,
  to: CheckpointSelector,
  options: { readonly status?: Status | undefined },
): Promise<LoadedCheckpoint> {
  await checkSaveFields(options);
  return retryOnConflict(async () => {
    const newest = await loadCheckpoint(at);
    return restore(at, newest, await loadCheckpoint(at, to), { kind: 'rewind', status: options.status });
  });
}

/** Appends the content from before the last change. */
export async function undo(at: RunContext): Promise<LoadedCheckpoint> {
  return retryOnConflict(async () => {
    const newest = await loadCheckpoint(at);
    const { version, meta } = newest.record;
    const shown = shownVersion(version, meta);
    const before = await previousShownVersion(at, shown);
    const nothing = `Run "${at.run}" is at its first available state, so there is nothing to undo.`;
    if (before === undefined) throw new WaitstateError('NOTHING_TO_UNDO', nothing);
    const source = await loadCheckpoint(at, before).catch((cause) => {
      throw isWaitstateError(cause, 'CHECKPOINT_PRUNED')
        ? new WaitstateError('NOTHING_TO_UNDO', nothing, { cause })
        : cause;
    });
    return restore(at, newest, source, { kind: 'undo', top: meta.top ?? shown });
  });
}

/** Appends the content that the last undo removed. */
export async function redo(at: RunContext): Promise<LoadedCheckpoint> {
  return retryOnConflict(async () => {
    const newest = await loadCheckpoint(at);
    const { version, meta } = newest.record;
    const next = await findUndoneVersion(at, shownVersion(version, meta), meta.top);
    if (next === undefined) {
      throw new WaitstateError(
        'NOTHING_TO_REDO',
        `Nothing was undone in run "${at.run}" since its last change, so there is nothing to redo.`,
      );
    }
    return restore(at, newest, await loadCheckpoint(at, next), { kind: 'redo', top: meta.top });
  });
}

/** The version that was shown before a change; undefined for the first. */
async function previousShownVersion(at: RunContext, version: number): Promise<number | undefined> {
  const [stored] = version > 1 ? await at.records.read(at.partition, [versionKey(version - 1)]) : [];
  return stored && shownVersion(version - 1, readCheckpoint(stored).meta);
}

/** The change that was undone to show this version, searched from the version at which undoing started. */
async function findUndoneVersion(at: RunContext, shown: number, top: number | undefined): Promise<number | undefined> {
  for (let change = top; change !== undefined; ) {
    const before = await previousShownVersion(at, change);
    if (before === shown) return change;
    // A change must follow its predecessor, or this loop would not end.
    if (before !== undefined && before >= change)
      throw damagedError(`Checkpoint ${change} of run "${at.run}"`, 'it shows a later version');
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
      `Run "${at.run}" belongs to an agent, so its journal must be changed too. Use \`rewind\` or \`fork\` of the agent's run.`,
      { scope: 'run' },
    );
  }
  // Throws now if this code cannot read the state, before anything is written.
  currentState(at, source);
  // Encoded from decoded values, so that payloads are stored again: a collection may remove payloads that the newest
  // checkpoint does not refer to.
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
    // A wait is not restored: the run continues from the restored state.
    status: status ?? (hasEnded(meta.status) ? meta.status : 'RUNNING'),
    step,
    stepNumber,
    labels,
    restored: version,
    top,
  });
}

/** Throws the error, or the reason for it when the checkpoint was pruned or deleted meanwhile. */
async function throwCurrentReason(at: RunContext, version: number, error: unknown): Promise<never> {
  if (isWaitstateError(error, 'DAMAGED')) await findCheckpoint(at, version);
  throw error;
}
