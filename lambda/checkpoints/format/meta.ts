import { STATUSES, type Status } from '../../core/status.ts';
import type { CheckpointId, CheckpointKind } from '../checkpoint.ts';
import type { WrappedKey } from '../encryption/key-ring.ts';

/** A payload that holds part of a state: a snapshot, or the patches that follow one. */
export type Segment = readonly [id: string, sha256: string, bytes: number];

/** The readable part of a checkpoint's record. */
export interface CheckpointMeta {
  readonly time: number;
  readonly status: Status;
  readonly kind: CheckpointKind;
  readonly step: string | undefined;
  readonly stepNumber: number;
  readonly name: string | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly schema: number | string | undefined;
  readonly writeId: string;
  readonly writer: string;
  /** The revision of the predecessor; of the first checkpoint: what the head calls `born`. */
  readonly previous: string;
  /** The version of the anchor that this patch stands on; absent in an anchor. */
  readonly anchor: number | undefined;
  /** The payloads of an anchor whose snapshot is not in its own body. */
  readonly segments: readonly Segment[] | undefined;
  /** The version that a rewind, undo or redo brought back, or that a prune shows. */
  readonly restored: number | undefined;
  /** Where a row of undo and redo began. */
  readonly top: number | undefined;
  /** What it was made from, where that is not its predecessor. */
  readonly parent: CheckpointId | undefined;
  /** Payloads that its state points at and its predecessor's did not, and the other way round. */
  readonly payloadsAdded: readonly string[] | undefined;
  readonly payloadsDropped: readonly string[] | undefined;
  /** The ranges of versions that a prune emptied. */
  readonly emptiedRanges: readonly (readonly [from: number, to: number])[] | undefined;
  /** The last use of the run, where it is not this: a prune keeps no run alive, and a writer's clock may be behind. */
  readonly usedAt: number | undefined;
  /** Set when the bytes are gone. */
  readonly emptied: 'pruned' | 'deleted' | undefined;
}

// A checkpoint is written at every step and paid for by the kilobyte. So what nearly all of them have is stored by its
// place, and the rest under short names behind it. Neither places nor names are ever used for something else.
type PositionalField = 'time' | 'stepNumber' | 'writeId' | 'writer' | 'previous' | 'anchor' | 'step';
const SHORT_NAMES = {
  status: 's',
  kind: 'k',
  name: 'nm',
  labels: 'l',
  schema: 'v',
  segments: 'g',
  restored: 'f',
  top: 'top',
  parent: 'pr',
  payloadsAdded: 'pa',
  payloadsDropped: 'pd',
  emptiedRanges: 'pz',
  usedAt: 'u',
  emptied: 'e',
} as const satisfies Record<Exclude<keyof CheckpointMeta, PositionalField>, string>;

/** What a checkpoint has unless it says otherwise, and so is not stored. */
export const DEFAULT_META: CheckpointMeta = {
  ...(Object.fromEntries(Object.keys(SHORT_NAMES).map((field) => [field, undefined])) as unknown as CheckpointMeta),
  time: 0,
  status: 'RUNNING',
  kind: 'save',
  step: undefined,
  stepNumber: 0,
  writeId: '',
  writer: '',
  previous: '',
  anchor: undefined,
};

/** The readable part of a run's head. */
export interface HeadMeta {
  /** A random id of this run's life: another run under the same id has another. */
  readonly born: string;
  readonly createdAt: number;
  /** The last write, but at most an hour behind. */
  readonly touchedAt: number;
  readonly status: Status;
  /** The checkpoint that the head last moved with, and its hash: the chain's hash at each change of status. */
  readonly version: number;
  readonly hash: string;
  readonly step?: string | undefined;
  readonly stepNumber: number;
  readonly agent?: string | undefined;
  readonly owner?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly parent?: CheckpointId | undefined;
  readonly retentionMs?: number | undefined;
  readonly key?: WrappedKey | undefined;
  readonly shredded?: true | undefined;
  /** Set on a tombstone: when the id may be freed. */
  readonly deletedUntil?: number | undefined;
  /** What the runtime knows of the run. */
  readonly work?: RuntimeMeta | undefined;
}

/** What of a head says how bytes are sealed. */
export type HeadKeyFields = Pick<HeadMeta, 'key' | 'owner' | 'shredded'>;

/** What the runtime must know of a run without opening it. */
export interface RuntimeMeta {
  /** How many outside events there were. */
  readonly wake: number;
  /** When somebody must look at the run. */
  readonly dueAt?: number | undefined;
  /** Which invocation runs it, and until when nobody else may. */
  readonly lease?: { readonly by: string; readonly until: number } | undefined;
  /** Claims since the last progress, and the version of the newest. */
  readonly claims?: number | undefined;
  readonly claimed?: number | undefined;
  /** How often the run was delivered since it became ready. */
  readonly deliveries?: number | undefined;
  /** The ids of open approvals. */
  readonly approvals?: readonly string[] | undefined;
  /** When the run times out, and how long it has each time it is begun anew. */
  readonly deadline?: number | undefined;
  readonly timeoutMs?: number | undefined;
  /** Which idempotency keys the steps of the run have: those of one epoch are equal. */
  readonly epoch?: number | undefined;
  /** That its journal was changed from outside, so that its code may go another way than the recorded one. */
  readonly edited?: true | undefined;
  /** How often the run was rewound or retried. */
  readonly rewinds?: number | undefined;
  /** The parent that waits for the end, in the same tenant. */
  readonly replyTo?: string | undefined;
  /** Where ENDING leads, and that it waits for its due time on the way there. */
  readonly ending?: 'FAILED' | 'CANCELLED' | undefined;
  readonly rests?: true | undefined;
  /** Why the run cannot go on with the code that is deployed. */
  readonly parked?: string | undefined;
}

/** Which checkpoint a name points at, and the anchor that it takes to load it. */
export interface NameMeta {
  readonly version: number;
  readonly anchor: number;
}

// The first character of the readable part is the version of this format.
const FORMAT = '1';

/** The text of a readable part; what is undefined is left out. */
export const encodeMeta = (meta: object): string => FORMAT + JSON.stringify(meta);

/**
 * The text of a checkpoint's readable part: `1[time, number, write id, writer, previous, anchor or 0, step or 0, { the
 * rest }]`.
 */
export function encodeCheckpointMeta(meta: CheckpointMeta): string {
  const { time, stepNumber, writeId, writer, previous, anchor = 0, step = 0 } = meta;
  const positional: unknown[] = [time, stepNumber, writeId, writer, previous, anchor, step];
  const named = (Object.keys(SHORT_NAMES) as (keyof typeof SHORT_NAMES)[]).filter(
    (field) => meta[field] !== DEFAULT_META[field],
  );
  if (named.length > 0) positional.push(Object.fromEntries(named.map((field) => [SHORT_NAMES[field], meta[field]])));
  return FORMAT + JSON.stringify(positional);
}

/** Why a readable part cannot be read. */
export type Unreadable = { readonly newerFormat: string } | { readonly problem: string };

/** Read a readable part, or say why it cannot be. */
export const readHeadMeta = (text: string): HeadMeta | Unreadable => parseMeta(text, isHead);
export const readNameMeta = (text: string): NameMeta | Unreadable => parseMeta(text, isName);

export function readCheckpointMeta(text: string): CheckpointMeta | Unreadable {
  const stored = parseMeta(text, isList);
  if (isUnreadable(stored)) return stored;
  const [time, stepNumber, writeId, writer, previous, anchor, step, rest = {}] = stored;
  const named = Object.entries(SHORT_NAMES).filter(([, short]) => Object.hasOwn(Object(rest), short));
  const fields = Object.fromEntries(named.map(([field, short]) => [field, (rest as Fields)[short]]));
  const positional = {
    time,
    stepNumber,
    writeId,
    writer,
    previous,
    anchor: anchor || undefined,
    step: step || undefined,
  };
  const meta = { ...DEFAULT_META, ...positional, ...fields };
  return isCheckpoint(meta) ? meta : { problem: 'fields are missing' };
}

/** Read a readable part that is an object; what is in it is for the caller to check. */
export const readObjectMeta = (text: string): Readonly<Record<string, unknown>> | Unreadable =>
  parseMeta(text, isRecord);

export const isUnreadable = (meta: object): meta is Unreadable => 'problem' in meta || 'newerFormat' in meta;

function parseMeta<M extends object>(text: string, isValid: (value: unknown) => value is M): M | Unreadable {
  const format = /^\d+/.exec(text)?.[0];
  if (format === undefined) return { problem: 'it is not of Waitstate' };
  if (format !== FORMAT) return { newerFormat: format };
  try {
    const value: unknown = JSON.parse(text.slice(FORMAT.length));
    return isValid(value) ? value : { problem: 'fields are missing' };
  } catch {
    return { problem: 'it is not JSON' };
  }
}

type Fields = Record<string, unknown>;

const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

const isStatus = (value: unknown): value is Status => STATUSES.includes(value as Status);

const hasFieldsOfType = (value: Fields, type: 'number' | 'string', ...fields: string[]): boolean =>
  fields.every((field) => typeof value[field] === type);

const isText = (value: unknown): boolean => typeof value === 'string';
const isVersion = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) > 0;
const isListOf =
  (isValid: (item: unknown) => boolean) =>
  (value: unknown): boolean =>
    isList(value) && value.every(isValid);
const isTextList = isListOf(isText);

/** Whether each of the fields is absent, or what it must be. What a list or an arithmetic stands on has to be it. */
const hasValidOptionalFields = (
  value: Fields,
  checks: readonly (readonly [is: (field: unknown) => boolean, ...fields: string[]])[],
): boolean =>
  checks.every(([isValid, ...fields]) => fields.every((field) => value[field] === undefined || isValid(value[field])));

const isCheckpoint = (value: unknown): value is CheckpointMeta =>
  isRecord(value) &&
  isStatus(value.status) &&
  hasFieldsOfType(value, 'number', 'time', 'stepNumber') &&
  hasFieldsOfType(value, 'string', 'writeId', 'writer', 'previous') &&
  hasValidOptionalFields(value, [
    [isVersion, 'anchor', 'restored', 'top'],
    [isTextList, 'payloadsAdded', 'payloadsDropped'],
    [isListOf((segment) => isList(segment) && isText(segment[0]) && isText(segment[1])), 'segments'],
    [isListOf(isListOf(isVersion)), 'emptiedRanges'],
  ]);

const isWork = (value: unknown): boolean => isRecord(value) && Number.isFinite(value.wake);

const isHead = (value: unknown): value is HeadMeta =>
  isRecord(value) &&
  isStatus(value.status) &&
  hasFieldsOfType(value, 'number', 'createdAt', 'touchedAt', 'version', 'stepNumber') &&
  hasFieldsOfType(value, 'string', 'born', 'hash') &&
  hasValidOptionalFields(value, [
    [isText, 'step', 'agent', 'owner'],
    [isTextList, 'tags'],
    [Number.isFinite, 'retentionMs', 'deletedUntil'],
    [isRecord, 'key', 'parent'],
    [isWork, 'work'],
  ]);

const isName = (value: unknown): value is NameMeta =>
  isRecord(value) && hasFieldsOfType(value, 'number', 'version', 'anchor');
