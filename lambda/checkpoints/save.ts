import { versionKey } from '../storage/keys.ts';
import { append, type CheckpointChange, createBase, toBase } from './append.ts';
import type { CheckpointSummary } from './checkpoint.ts';
import type { HeadChange } from './commit.ts';
import {
  type ContentValues,
  checkReadable,
  EMPTY_CONTENT,
  encodeModel,
  encodeValues,
  nextSchemaVersion,
} from './content.ts';
import type { RunContext } from './context.ts';
import { checkSaveFields, importRunFields } from './fields/check-save-fields.ts';
import { isRecord, type SaveFields, toRetentionMs } from './fields/save-fields.ts';
import { lastUsedAt, readCheckpoint, toCheckpointSummary } from './format/records.ts';
import { loadCheckpoint } from './load.ts';
import type { LoadedCheckpoint } from './loaded-checkpoint.ts';
import { checkNotExpired, checkVersion, readNewest } from './read-head.ts';
import { StaleVersionError } from './stale-version-error.ts';

/** A checkpoint to save. */
export interface SaveInput<State = unknown> extends SaveFields {
  readonly run: string;
  /**
   * The checkpoint that this one follows, or its version; 0 means that the run must be new. Passing the checkpoint also
   * detects that the run was deleted and started again under the same id.
   * @default 0
   */
  readonly expectedVersion?: number | Pick<CheckpointSummary, 'version' | 'hash'>;
  /** @default unchanged */
  readonly state?: State | undefined;
}

/** Events of an agent in another language are recorded with its save; the checkpoint store offers none. */
type Input = Omit<SaveInput, 'run' | 'expectedVersion'> & Pick<CheckpointChange, 'events'>;

/** Saves the checkpoint after the expected one; throws StaleVersionError when another writer was first. */
export async function save(
  at: RunContext,
  { expectedVersion = 0, ...input }: Omit<SaveInput, 'run'> & Pick<CheckpointChange, 'events'>,
): Promise<LoadedCheckpoint> {
  await checkSaveFields(input);
  const { version, hash } = isRecord(expectedVersion) ? expectedVersion : { version: expectedVersion, hash: undefined };
  checkVersion(version, '`expectedVersion`', 0);
  if (version === 0) return saveAfter(at, undefined, input);
  const cached = at.cache.fresh(at.partition, at.now());
  const loaded = isExpected(cached, version, hash) ? cached : await loadCheckpoint(at);
  if (isExpected(loaded, version, hash)) return saveAfter(at, loaded, input);
  at.cache.remember(at.partition, loaded);
  return findEarlierWrite(at, version, input.writeId, loaded);
}

const isExpected = (
  loaded: LoadedCheckpoint | undefined,
  version: number,
  hash: string | undefined,
): loaded is LoadedCheckpoint =>
  loaded?.record.version === version && (hash === undefined || loaded.record.hash === hash);

/** Saves the checkpoint after a loaded one, or the first of a new run. */
export async function saveAfter(
  at: RunContext,
  loaded: LoadedCheckpoint | undefined,
  input: Input,
): Promise<LoadedCheckpoint> {
  if (!loaded) return saveFirst(at, input);
  if (input.writeId !== undefined && loaded.record.meta.writeId === input.writeId) return loaded;
  if (input.parent || input.requestedBy) (await importRunFields()).checkNotFirstOnly(input, loaded);
  checkNotExpired(at, loaded.head.meta, lastUsedAt(loaded.record.meta));
  const schema = input.state === undefined ? loaded.record.meta.schema : nextSchemaVersion(at, loaded);
  checkReadable(at, loaded, input);
  const root = await encodeValues(at, loaded.cipher, loaded.root, toValues(input));
  const head = changedHeadFields(input, loaded);
  return append(at, toBase(loaded), { ...input, root, model: encodeModel(at, input.model), schema, head });
}

/** The part of the input that becomes content; an undefined state means no change. */
function toValues({ state, toolResults, forgetToolResults }: Input): ContentValues {
  return { toolResults, forgetToolResults, ...(state !== undefined && { state }) };
}

async function saveFirst(at: RunContext, input: Input): Promise<LoadedCheckpoint> {
  const base = await createBase(at, input.owner);
  const root = await encodeValues(at, base.cipher, EMPTY_CONTENT, toValues(input));
  const { retentionMs = at.retentionMs, ...fields } = toHeadFields(input);
  const head = { ...fields, retentionMs, requestedBy: input.requestedBy };
  try {
    return await append(at, base, {
      ...input,
      root,
      model: encodeModel(at, input.model),
      schema: at.migrator?.current,
      head,
    });
  } catch (error) {
    // If the existing run is deleted or expired, this throws the more precise error.
    if (error instanceof StaleVersionError) await readNewest(at);
    throw error;
  }
}

/** The checkpoint that an earlier attempt with this write id wrote; throws StaleVersionError when there is none. */
export async function findEarlierWrite(
  at: RunContext,
  expected: number,
  writeId: string | undefined,
  newest: LoadedCheckpoint,
): Promise<LoadedCheckpoint> {
  if (writeId !== undefined && newest.record.version > expected) {
    const [next] = await at.records.read(at.partition, [versionKey(expected + 1)]);
    if (next && readCheckpoint(next).meta.writeId === writeId) return loadCheckpoint(at, expected + 1);
  }
  const found = newest.record.version >= expected ? toCheckpointSummary(at.run, newest.record) : undefined;
  throw new StaleVersionError(at.run, expected, found);
}

/** The head fields that a save changes; undefined when it changes none. */
function changedHeadFields(input: Input, { head }: LoadedCheckpoint): HeadChange | undefined {
  const current = head.meta;
  const given = Object.entries(toHeadFields(input) satisfies HeadChange).filter(
    ([field, value]) =>
      value !== undefined && JSON.stringify(value) !== JSON.stringify(current[field as keyof HeadChange]),
  );
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

const toHeadFields = ({ agent, owner, tags, retention }: Input) => ({
  agent,
  owner,
  tags,
  retentionMs: toRetentionMs(retention),
});
