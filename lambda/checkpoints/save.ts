import { type Duration, toPositiveMs } from '../core/duration.ts';
import { escapeId } from '../core/ids.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { STATUSES, type Status } from '../core/status.ts';
import { nameKey, versionKey } from '../storage/keys.ts';
import { append, createBase, toBase } from './append.ts';
import type { CheckpointFields, CheckpointSummary, ModelParameters } from './checkpoint.ts';
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
import { lastUsedAt, readCheckpoint, toCheckpointSummary } from './format/records.ts';
import { loadCheckpoint } from './load.ts';
import type { LoadedCheckpoint } from './loaded-checkpoint.ts';
import { checkNotExpired, checkVersion, readNewest } from './read-head.ts';
import { StaleVersionError } from './stale-version-error.ts';

/** The fields of a save, besides the state. */
export interface SaveFields extends CheckpointFields {
  /** Tool results by call id; they are added to those of the run. */
  readonly toolResults?: Readonly<Record<string, unknown>> | undefined;
  /** Removes these tool results from the run, or all earlier ones. */
  readonly forgetToolResults?: true | readonly string[] | undefined;
  readonly model?: ModelParameters | undefined;
  readonly agent?: string | undefined;
  readonly owner?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  /** How long the run is kept after its last write. @default the retention of the store */
  readonly retention?: Duration | undefined;
}

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

type Input = Omit<SaveInput, 'run' | 'expectedVersion'>;

/** Saves the checkpoint after the expected one; throws StaleVersionError when another writer was first. */
export async function save(
  at: RunContext,
  { expectedVersion = 0, ...input }: Omit<SaveInput, 'run'>,
): Promise<LoadedCheckpoint> {
  checkSaveFields(input);
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
  if (input.parent) throw invalidInput('`parent`', 'given with the first save of a run only', input.parent);
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
  const head = toHeadFields(input);
  head.retentionMs ??= at.retentionMs;
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

/** Rejects invalid fields before anything is written. */
export function checkSaveFields(input: SaveFields): void {
  if (!isRecord(input)) throw invalidInput('The input of a save', 'an object', input);
  const { step, stepNumber, status, name, labels, toolResults, forgetToolResults, model, writeId, parent } = input;
  const { agent, owner, tags, retention } = input;
  checkText('step', step, 1000);
  checkText('writeId', writeId);
  checkText('agent', agent);
  checkField(
    'stepNumber',
    stepNumber,
    'a whole number from 0',
    Number.isSafeInteger(stepNumber) && Number(stepNumber) >= 0,
  );
  checkField('status', status, `one of ${STATUSES.join(', ')}`, STATUSES.includes(status as Status));
  const hasValidLabels = isRecord(labels) && Object.values(labels).every(isString) && fitsMeta(labels);
  checkField('labels', labels, `an object whose values are text, ${META_LIMIT}`, hasValidLabels);
  checkField('toolResults', toolResults, 'an object of results by call id', isRecord(toolResults));
  checkField('model', model, 'an object of parameters', isRecord(model));
  const hasValidIds = Array.isArray(forgetToolResults) && forgetToolResults.every(isString);
  checkField(
    'forgetToolResults',
    forgetToolResults,
    'true or a list of call ids',
    forgetToolResults === true || hasValidIds,
  );
  const hasValidTags = Array.isArray(tags) && tags.every((tag) => isText(tag, 256)) && fitsMeta(tags);
  checkField('tags', tags, `a list of texts, ${META_LIMIT}`, hasValidTags);
  toRetentionMs(retention);
  if (owner !== undefined) escapeId('owner', owner);
  if (name !== undefined) nameKey(name);
  if (parent !== undefined) {
    escapeId('parent run', parent.run);
    checkVersion(parent.version, 'The version of the parent');
  }
}

/** Rejects anything but text of 1 to `maxCharacters` characters. */
export const checkText = (field: string, value: unknown, maxCharacters = 256): void =>
  checkField(field, value, `text of 1 to ${maxCharacters} characters`, isText(value, maxCharacters));

function checkField(field: string, value: unknown, expected: string, isValid: boolean): void {
  if (value !== undefined && !isValid) throw invalidInput(`\`${field}\``, expected, value);
}

/** A retention in milliseconds; rejects an invalid one. */
export const toRetentionMs = (retention: Duration | undefined): number | undefined =>
  toPositiveMs('`retention`', retention);

// Metadata is written and read with every list, and a record can hold at most 400 KB.
const MAX_META_CHARACTERS = 16_384;
const META_LIMIT = `at most ${MAX_META_CHARACTERS} characters as JSON`;
const fitsMeta = (value: unknown): boolean => JSON.stringify(value).length <= MAX_META_CHARACTERS;
const isString = (value: unknown): value is string => typeof value === 'string';
const isText = (value: unknown, maxCharacters: number): boolean =>
  isString(value) && value !== '' && value.length <= maxCharacters;
const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
