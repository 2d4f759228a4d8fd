import { HoldpointError, isHoldpointError } from '../core/errors.ts';
import { escapeId, MAX_ID_BYTES } from '../core/ids.ts';
import { hasEnded, type Status } from '../core/status.ts';
import { append, beginning } from './append.ts';
import type { CheckpointKind } from './checkpoint.ts';
import { currentState, decodeResults, decodeValue, encodeValues, NO_CONTENT } from './content.ts';
import type { RunContext } from './context.ts';
import { type Edit, edited } from './draft.ts';
import { randomId, readCheckpoint, shownAt, statusOf, versionKey } from './records.ts';
import { checkFields, type SaveFields } from './save.ts';
import { type At, openTail, type Tail, throwReason } from './tail.ts';
import { retried } from './update.ts';

export interface ForkOptions<State = unknown>
  extends At,
    Pick<SaveFields, 'status' | 'name' | 'labels' | 'writeId' | 'agent' | 'owner' | 'tags' | 'retentionSeconds'> {
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

/** Begins a new run with the content of a checkpoint. It stands alone: its own snapshot, its own copies of payloads. */
export async function fork<State>(from: RunContext, to: RunContext, options: ForkOptions<State>): Promise<Tail> {
  checkFields(options);
  const source = await openTail(from, options);
  const current = currentState(from, source);
  const state = options.edit ? await edited(current.state as State, options.edit) : current.state;
  const { agent, owner, tags, retention } = source.head.meta;
  const head = {
    agent: options.agent ?? agent,
    owner: options.owner ?? owner,
    tags: options.tags ?? tags,
    retention: options.retentionSeconds === undefined ? (retention ?? to.retentionMs) : options.retentionSeconds * 1000,
  };
  const base = await beginning(to, head.owner);
  const results = decodeResults(from, source);
  const root = await encodeValues(to, base.sealing, NO_CONTENT, {
    state,
    toolResults: { ...results, ...options.toolResults },
  }).catch((error) => throwReason(from, source.record.version, error));
  const { st, n } = source.record.meta;
  try {
    return await append(to, base, {
      root,
      model: source.model,
      schema: current.schema,
      kind: 'fork',
      status: options.status,
      step: st,
      stepNumber: n,
      name: options.name,
      labels: options.labels,
      writeId: options.writeId,
      parent: { run: from.run, version: source.record.version },
      head,
    });
  } catch (cause) {
    if (!isHoldpointError(cause, 'STALE_VERSION')) throw cause;
    throw new HoldpointError('RUN_EXISTS', `There is a run "${to.run}" already; a fork needs an id of its own.`, {
      cause,
    });
  }
}

/** Appends the content of an earlier checkpoint; history stays as it is. */
export async function rewind(at: RunContext, to: At, options: { readonly status?: Status } = {}): Promise<Tail> {
  checkFields(options);
  return retried(async () => {
    const tail = await openTail(at);
    return restore(at, tail, await openTail(at, to), 'rewind', options);
  });
}

/** Appends what was there before the last change. */
export async function undo(at: RunContext): Promise<Tail> {
  return retried(async () => {
    const tail = await openTail(at);
    const { version, meta } = tail.record;
    const shown = shownAt(version, meta);
    const before = await previousOf(at, shown);
    if (before === undefined)
      throw new HoldpointError('NOTHING_TO_UNDO', `Run "${at.run}" shows its first state; there is nothing before it.`);
    return restore(at, tail, await openTail(at, { version: before }), 'undo', { top: meta.top ?? shown });
  });
}

/** Appends what the last undo took away. */
export async function redo(at: RunContext): Promise<Tail> {
  return retried(async () => {
    const tail = await openTail(at);
    const { version, meta } = tail.record;
    const next = await undoneAfter(at, shownAt(version, meta), meta.top);
    if (next === undefined) {
      throw new HoldpointError('NOTHING_TO_REDO', `Nothing was undone in run "${at.run}" since its last change.`);
    }
    return restore(at, tail, await openTail(at, { version: next }), 'redo', { top: meta.top });
  });
}

/** The version that was shown before a change, or undefined when it was the first. */
async function previousOf(at: RunContext, version: number): Promise<number | undefined> {
  if (version <= 1) return undefined;
  const [stored] = await at.records.read(at.partition, [versionKey(version - 1)]);
  if (!stored) return undefined;
  return shownAt(version - 1, readCheckpoint(stored).meta);
}

/** The change that was undone to show this version: from where undoing began, back to the one right after it. */
async function undoneAfter(at: RunContext, shown: number, top: number | undefined): Promise<number | undefined> {
  for (let change = top; change !== undefined; ) {
    const before = await previousOf(at, change);
    if (before === shown) return change;
    change = before;
  }
  return undefined;
}

async function restore(
  at: RunContext,
  tail: Tail,
  source: Tail,
  kind: CheckpointKind,
  options: { readonly status?: Status | undefined; readonly top?: number | undefined },
): Promise<Tail> {
  // Through live values: payloads that the newest checkpoint no longer points at may be collected, so they are stored anew.
  const root = await encodeValues(at, tail.sealing, tail.root, {
    state: decodeValue(at, source, source.root.state),
    toolResults: decodeResults(at, source),
    forgetToolResults: true,
  }).catch((error) => throwReason(at, source.record.version, error));
  const { st, n, l, v } = source.record.meta;
  const status = statusOf(source.record.meta);
  return append(at, tail, {
    root,
    model: source.model,
    schema: v,
    kind,
    // A wait belongs to the moment it was in: going back to it means to run again from there.
    status: options.status ?? (hasEnded(status) ? status : 'RUNNING'),
    step: st,
    stepNumber: n,
    labels: l,
    restored: source.record.version,
    top: options.top,
  });
}
