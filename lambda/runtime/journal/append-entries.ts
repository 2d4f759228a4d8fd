import {
  append,
  type CheckpointKind,
  type Doc,
  encodeModel,
  encodeValues,
  type HeadChange,
  type HeadMeta,
  type LoadedCheckpoint,
  type ModelParameters,
  type RunContext,
  toBase,
} from '../../checkpoints/engine.ts';
import type { Status } from '../../core/status.ts';
import type { Write } from '../../storage/ports.ts';
import type { Entry } from './entries.ts';
import { spentUntil } from './spent.ts';

/** The changes that one checkpoint of the runtime makes. */
export interface JournalChange {
  readonly entries?: ReadonlyMap<string, Entry>;
  /** The ids of entries to remove. */
  readonly forget?: readonly string[];
  /** Present when the state changes. */
  readonly state?: { readonly value: unknown } | undefined;
  readonly kind?: CheckpointKind;
  readonly status?: Status;
  readonly step?: string | undefined;
  /** How many steps it completes. @default one when it has a step */
  readonly steps?: number;
  readonly model?: ModelParameters | undefined;
  /** The events that the agent emitted. */
  readonly events?: readonly Doc[] | undefined;
  readonly name?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly head?: (current: HeadMeta) => HeadChange;
  readonly sideWrites?: readonly Write[];
}

/** Appends a checkpoint with changes of the journal, the state and the head on top of a loaded one. */
export async function appendEntries(
  at: RunContext,
  loaded: LoadedCheckpoint,
  change: JournalChange,
): Promise<LoadedCheckpoint> {
  const { entries = new Map(), forget, state, steps, head, ...rest } = change;
  const { meta } = loaded.record;
  const root = await encodeValues(at, loaded.cipher, loaded.root, {
    toolResults: Object.fromEntries(entries),
    forgetToolResults: forget,
    ...(state && { state: state.value }),
  });
  return append(at, toBase(loaded), {
    ...rest,
    root,
    model: encodeModel(at, change.model),
    schema: state ? at.migrator?.current : meta.schema,
    ...(steps !== undefined && { stepNumber: meta.stepNumber + steps }),
    ...(change.name !== undefined && { moveName: true }),
    ...(head && { head: (current) => countTime(at, loaded, current, head(current), change.kind) }),
  });
}

/** A change of the head with the time that the run has spent in each activity until now. */
export function countTime(
  at: RunContext,
  { record }: LoadedCheckpoint,
  current: HeadMeta,
  { work, ...change }: HeadChange,
  kind?: CheckpointKind,
): HeadChange {
  return { ...change, work: work && { ...work, spent: spentUntil(current, record.meta, kind === 'claim', at.now()) } };
}

/** The encoded entries of a journal. Their values are not decoded, so no code of the agent is needed. */
export function rawEntries(
  loaded: LoadedCheckpoint,
): readonly (readonly [id: string, entry: Readonly<Record<string, unknown>>])[] {
  return Object.values(loaded.root.results)
    .flatMap((group) => Object.entries(group))
    .map(([id, entry]) => [id.replace(/^\$/, ''), Object(entry)] as const);
}
