import type { Person } from '../../core/approval.ts';
import { STATUSES, type Status } from '../../core/status.ts';
import type { CheckpointId, CheckpointKind, RunOutcome } from '../checkpoint.ts';
import type { WrappedKey } from '../encryption/key-ring.ts';

/** A payload with part of a state: a snapshot, or patches that follow it. */
export type Segment = readonly [id: string, sha256: string, bytes: number];

/** The unencrypted metadata of a checkpoint. */
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
  /** The hash of the predecessor; for the first checkpoint, `uid` of the head. */
  readonly previous: string;
  /** The version of the anchor that this patch applies to; absent in an anchor. */
  readonly anchor: number | undefined;
  /** The payloads of an anchor whose snapshot is not in its body. */
  readonly segments: readonly Segment[] | undefined;
  /** The version that a rewind, undo or redo restored, or that stays current after a prune. */
  readonly restored: number | undefined;
  /** The version at which a sequence of undo and redo started. */
  readonly top: number | undefined;
  /** The checkpoint it was created from, if that is not its predecessor. */
  readonly parent: CheckpointId | undefined;
  /** Payloads that its state refers to and its predecessor's does not, and the reverse. */
  readonly payloadsAdded: readonly string[] | undefined;
  readonly payloadsDropped: readonly string[] | undefined;
  /** The ranges of versions that a prune emptied. */
  readonly emptiedRanges: readonly (readonly [from: number, to: number])[] | undefined;
  /**
   * The last use of the run, if it is not `time`: a prune does not count as use, and a writer's clock may be behind.
   */
  readonly usedAt: number | undefined;
  /** Set when the content was removed. */
  readonly emptied: 'pruned' | 'deleted' | undefined;
}

// A checkpoint is written at every step and billed by the kilobyte. Fields that nearly every checkpoint has are stored
// by position, and the others after them under short names. Positions and names are never reused for another field.
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

/** The default values of the metadata, which are not stored. */
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

/** The unencrypted metadata of a run's head. */
export interface HeadMeta {
  /** A random id of this run; a later run with the same run id has a different one. */
  readonly uid: string;
  readonly createdAt: number;
  /** The time of the last write, at most an hour behind. */
  readonly updatedAt: number;
  readonly status: Status;
  /** The checkpoint of the last update of the head, and its hash: this anchors the hash chain at each status change. */
  readonly version: number;
  readonly hash: string;
  readonly step?: string | undefined;
  readonly stepNumber: number;
  readonly agent?: string | undefined;
  readonly owner?: string | undefined;
  /** The person who requested the run; it never changes. */
  readonly requestedBy?: Person | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly parent?: CheckpointId | undefined;
  /** Whether the run is a fork of its parent, and was not started by it. */
  readonly forked?: true | undefined;
  readonly retentionMs?: number | undefined;
  readonly key?: WrappedKey | undefined;
  readonly shredded?: true | undefined;
  /** Set on a tombstone: when the run id may be freed. */
  readonly deletedUntil?: number | undefined;
  /** The runtime's fields. */
  readonly work?: RuntimeMeta | undefined;
}

/** The fields of a head that determine the cipher. */
export type HeadKeyFields = Pick<HeadMeta, 'key' | 'owner' | 'shredded'>;

/** What the runtime needs to know about a run without loading its state. */
export interface RuntimeMeta {
  /** The number of events so far. */
  readonly eventCount: number;
  /** When the run must be processed next. */
  readonly dueAt?: number | undefined;
  /** The invocation that runs it, and when its lease ends. */
  readonly lease?: { readonly by: string; readonly until: number } | undefined;
  /** The number of claims since the last progress, and the version of the newest claim. */
  readonly claims?: number | undefined;
  readonly claimedVersion?: number | undefined;
  /** The number of deliveries since the run became READY. */
  readonly deliveries?: number | undefined;
  /** The ids of pending approvals. */
  readonly approvals?: readonly string[] | undefined;
  /** When the run times out, and the timeout that applies each time it starts over. */
  readonly deadline?: number | undefined;
  readonly timeoutMs?: number | undefined;
  /** The epoch of the idempotency keys: a step has the same key within one epoch. */
  readonly epoch?: number | undefined;
  /** Whether an operator edited the journal, so that the code may take a different path than the recorded one. */
  readonly edited?: true | undefined;
  /** The number of rewinds and retries. */
  readonly rewinds?: number | undefined;
  /** The parent run that waits for the end, in the same tenant. */
  readonly replyTo?: string | undefined;
  /** The final status after ENDING, and whether the run is suspended until its due time while it ends. */
  readonly ending?: 'FAILED' | 'CANCELLED' | undefined;
  readonly suspended?: true | undefined;
  /** Why the run cannot continue with the deployed code. */
  readonly parkedReason?: string | undefined;
  /** What a suspended run waits for: `signal seat, call billing`. */
  readonly waits?: string | undefined;
  /** The milliseconds of each activity so far, by position; see `spent.ts` of the runtime. */
  readonly spent?: readonly number[] | undefined;
  /** The last decision of people, and what came of a run that has ended. */
  readonly decision?: RunOutcome['decision'] | undefined;
  readonly outcome?: RunOutcome | undefined;
}

/** The checkpoint of a name, and the anchor that is needed to load it. */
export interface NameMeta {
  readonly version: number;
  readonly anchor: number;
  /** Whether a prune emptied the checkpoint, so that another checkpoint can take the name. */
  readonly pruned?: true;
}

// The first character of metadata is the version of this format.
const FORMAT = '1';

/** Encodes metadata as text; undefined fields are left out. */
export const encodeMeta = (meta: object): string => FORMAT + JSON.stringify(meta);

/**
 * Encodes the metadata of a checkpoint as text:
 * `1[time, step number, write id, writer, previous, anchor or 0, step or 0, { other fields }]`.
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

/** Why metadata cannot be read. */
export type Unreadable = { readonly newerFormat: string } | { readonly problem: string };

/** Read metadata, or return why it cannot be read. */
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

/** Reads metadata that is an object; the caller checks its fields. */
export const readObjectMeta = (text: string): Readonly<Record<string, unknown>> | Unreadable =>
  parseMeta(text, isRecord);

export const isUnreadable = (meta: object): meta is Unreadable => 'problem' in meta || 'newerFormat' in meta;

function parseMeta<M extends object>(text: string, isValid: (value: unknown) => value is M): M | Unreadable {
  const format = /^\d+/.exec(text)?.[0];
  if (format === undefined) return { problem: 'it was not written by Waitstate' };
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

/** Whether each field is absent or valid. Fields that lists or calculations depend on must be valid. */
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

const isWork = (value: unknown): boolean => isRecord(value) && Number.isFinite(value.eventCount);

const isHead = (value: unknown): value is HeadMeta =>
  isRecord(value) &&
  isStatus(value.status) &&
  hasFieldsOfType(value, 'number', 'createdAt', 'updatedAt', 'version', 'stepNumber') &&
  hasFieldsOfType(value, 'string', 'uid', 'hash') &&
  hasValidOptionalFields(value, [
    [isText, 'step', 'agent', 'owner', 'requestedBy'],
    [isTextList, 'tags'],
    [Number.isFinite, 'retentionMs', 'deletedUntil'],
    [isRecord, 'key', 'parent'],
    [isWork, 'work'],
  ]);

const isName = (value: unknown): value is NameMeta =>
  isRecord(value) && hasFieldsOfType(value, 'number', 'version', 'anchor');
