import { createHash, randomBytes } from 'node:crypto';
import { escapeId, parsePartition } from '../../core/ids.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import {
  dueGroup,
  HEAD_KEY,
  nameKey,
  parseKey,
  parseVersion,
  tenantGroup,
  timeOrder,
  versionKey,
} from '../../storage/keys.ts';
import type { ListEntries, StoredRecord } from '../../storage/ports.ts';
import type { CheckpointSummary } from '../checkpoint.ts';
import { damagedError, formatTooNew } from '../run-errors.ts';
import {
  type CheckpointMeta,
  encodeCheckpointMeta,
  encodeMeta,
  type HeadMeta,
  isUnreadable,
  type NameMeta,
  readCheckpointMeta,
  readHeadMeta,
  readNameMeta,
  type Unreadable,
} from './meta.ts';

/** A checkpoint as it is stored. */
export interface CheckpointRecord {
  readonly version: number;
  /** The hash of the checkpoint as first written. */
  readonly hash: string;
  readonly meta: CheckpointMeta;
  readonly stored: StoredRecord;
}

/** A run's head as it is stored. */
export interface HeadRecord {
  readonly revision: string;
  readonly meta: HeadMeta;
}

/** A random id: 12 bytes to be globally unique, 6 bytes to distinguish concurrent writers of one version. */
export const randomId = (bytes = 12): string => randomBytes(bytes).toString('base64url');

/** The hash of a checkpoint as first written: 162 bits of SHA-256 over its key, its metadata and its body. */
function hashCheckpoint(partition: string, version: number, meta: string, body: Uint8Array | undefined): string {
  const hash = createHash('sha256').update(`${partition}\n${version}\n${meta.length}\n${meta}`);
  if (body) hash.update(body);
  return hash.digest('base64url').slice(0, 27);
}

/** A new checkpoint; `body` receives the text of the metadata, which is authenticated with it. */
export function checkpointRecord(
  partition: string,
  version: number,
  meta: CheckpointMeta,
  body: (metaText: string) => Uint8Array | undefined,
): CheckpointRecord {
  const text = encodeCheckpointMeta(meta);
  const bytes = body(text);
  const hash = hashCheckpoint(partition, version, text, bytes);
  const stored = { partition, key: versionKey(version), revision: hash, meta: text };
  return { version, hash, meta, stored: bytes ? { ...stored, body: bytes } : stored };
}

// An emptied record keeps its original hash with this suffix, because equal revisions mean equal contents.
export const EMPTIED_SUFFIX = '~';

/** Reads a checkpoint; throws DAMAGED when its bytes do not match its hash. */
export function readCheckpoint(stored: StoredRecord): CheckpointRecord {
  const meta = requireReadable(stored, readCheckpointMeta(stored.meta));
  const version = parseVersion(stored.key);
  if (meta.anchor !== undefined && meta.anchor >= version)
    throw damagedError(describeRecord(stored), 'its anchor is not an earlier checkpoint');
  if (!meta.emptied && hashCheckpoint(stored.partition, version, stored.meta, stored.body) !== stored.revision) {
    throw damagedError(describeRecord(stored), 'its bytes do not match its hash');
  }
  return { version, hash: stored.revision.replace(EMPTIED_SUFFIX, ''), meta, stored };
}

export const readHead = (stored: StoredRecord): HeadRecord => ({
  revision: stored.revision,
  meta: requireReadable(stored, readHeadMeta(stored.meta)),
});

export const readName = (stored: StoredRecord): NameMeta => requireReadable(stored, readNameMeta(stored.meta));

function requireReadable<M extends object>(stored: StoredRecord, meta: M | Unreadable): M {
  if (!isUnreadable(meta)) return meta;
  if ('newerFormat' in meta) throw formatTooNew(describeRecord(stored), meta.newerFormat);
  throw damagedError(describeRecord(stored), `its metadata is not what was written: ${meta.problem}`);
}

/** The name of a record in messages. */
export function describeRecord({ partition, key }: { readonly partition: string; readonly key: string }): string {
  const { run } = parsePartition(partition);
  const parsed = parseKey(key);
  if (parsed === 'head') return `The head of run "${run}"`;
  if (parsed && 'name' in parsed) return `The name "${parsed.name}" of run "${run}"`;
  return `Checkpoint ${parseVersion(key)} of run "${run}"`;
}

/** How far the head may be behind the last write; steps update it at most this often. */
export const MAX_HEAD_LAG_MS = 3_600_000;

/** When the run was last used; a prune does not count. */
export const lastUsedAt = (meta: CheckpointMeta): number => meta.usedAt ?? meta.time;

/** When a run must be processed next: its tombstone or its retention expires, or its work is due. */
function headDueAt({ deletedUntil, work, retentionMs = Infinity, updatedAt }: HeadMeta): number | undefined {
  const due = deletedUntil ?? Math.min(work?.dueAt ?? Infinity, updatedAt + retentionMs + MAX_HEAD_LAG_MS);
  return due === Infinity ? undefined : due;
}

/** The maximum time until a leased run is due, no matter how long its lease is. */
export const MAX_LEASED_DUE_MS = 3_600_000;

/** Whether an invocation has the lease of the run. */
export const isLeased = ({ status, work }: HeadMeta): boolean => status === 'RUNNING' && work?.lease !== undefined;

/** A head with its list entries: by status and owner until it is deleted, and by due time. */
export function headRecord(partition: string, meta: HeadMeta): { readonly stored: StoredRecord } & HeadRecord {
  const { tenant } = parsePartition(partition);
  const order = timeOrder(meta.updatedAt);
  const due = headDueAt(meta);
  const isLive = meta.deletedUntil === undefined;
  const lists: ListEntries = {
    // A leased run is found through the due list; entering and leaving the status list at each claim would cost writes.
    ...(isLive && !isLeased(meta) && { status: { group: tenantGroup(tenant, meta.status), order } }),
    ...(isLive &&
      meta.owner !== undefined && { owner: { group: tenantGroup(tenant, escapeId('owner', meta.owner)), order } }),
    ...(due !== undefined && { due: { group: dueGroup(partition), order: timeOrder(due) } }),
  };
  const revision = randomId();
  return { revision, meta, stored: { partition, key: HEAD_KEY, revision, meta: encodeMeta(meta), lists } };
}

export const nameRecord = (partition: string, name: string, meta: NameMeta): StoredRecord => ({
  partition,
  key: nameKey(name),
  revision: randomId(),
  meta: encodeMeta(meta),
});

export function toCheckpointSummary(run: string, { meta, version, hash, stored }: CheckpointRecord): CheckpointSummary {
  const { step, name, schema, restored } = meta;
  const parent = meta.parent ?? (version > 1 ? { run, version: version - 1 } : undefined);
  const segment = meta.segments?.at(-1);
  return {
    run,
    version,
    kind: meta.kind,
    status: meta.status,
    stepNumber: meta.stepNumber,
    labels: meta.labels ?? {},
    savedAt: new Date(meta.time),
    writer: meta.writer,
    writeId: meta.writeId,
    hash,
    pruned: meta.emptied !== undefined,
    bytes: stored.meta.length + (stored.body?.length ?? 0) + (segment?.[2] ?? 0),
    ...omitUndefined({ step, name, schema, parent, restored, previousHash: version > 1 ? meta.previous : undefined }),
  };
}
