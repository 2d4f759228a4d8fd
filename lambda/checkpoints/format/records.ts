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

/** A random id of so many bytes: 12 where it must be alone in the world, 6 where only writers of one version meet. */
export const randomId = (bytes = 12): string => randomBytes(bytes).toString('base64url');

/** The hash of a checkpoint as first written: 162 bits of SHA-256 over where it is, what it says and what it holds. */
function hashCheckpoint(partition: string, version: number, meta: string, body: Uint8Array | undefined): string {
  const hash = createHash('sha256').update(`${partition}\n${version}\n${meta.length}\n${meta}`);
  if (body) hash.update(body);
  return hash.digest('base64url').slice(0, 27);
}

/** A new checkpoint; `body` closes over the text of the readable part, which is authenticated with it. */
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

// An emptied record keeps the hash of what it was, marked, since equal revisions mean equal contents.
export const EMPTIED_SUFFIX = '~';

/** Reads a checkpoint, and refuses one whose bytes are not those that were written. */
export function readCheckpoint(stored: StoredRecord): CheckpointRecord {
  const meta = requireReadable(stored, readCheckpointMeta(stored.meta));
  const version = parseVersion(stored.key);
  if (meta.anchor !== undefined && meta.anchor >= version)
    throw damagedError(describeRecord(stored), 'it stands on a later one');
  if (!meta.emptied && hashCheckpoint(stored.partition, version, stored.meta, stored.body) !== stored.revision) {
    throw damagedError(describeRecord(stored), 'its bytes do not have its hash');
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
  throw damagedError(describeRecord(stored), `its readable part is not what was written: ${meta.problem}`);
}

/** How a record is called in messages. */
export function describeRecord({ partition, key }: { readonly partition: string; readonly key: string }): string {
  const { run } = parsePartition(partition);
  const parsed = parseKey(key);
  if (parsed === 'head') return `The head of run "${run}"`;
  if (parsed && 'name' in parsed) return `The name "${parsed.name}" of run "${run}"`;
  return `Checkpoint ${parseVersion(key)} of run "${run}"`;
}

/** How far the head may be behind the last write of its run: it is renewed at most this often. */
export const MAX_HEAD_LAG_MS = 3_600_000;

/** When the run was last written to; a prune does not keep it alive. */
export const lastUsedAt = (meta: CheckpointMeta): number => meta.usedAt ?? meta.time;

/**
 * The moment at which somebody must look at a run: its tombstone may go, its work is due, or it was not written to for
 * too long.
 */
function headDueAt({ deletedUntil, work, retentionMs = Infinity, touchedAt }: HeadMeta): number | undefined {
  const due = deletedUntil ?? Math.min(work?.dueAt ?? Infinity, touchedAt + retentionMs + MAX_HEAD_LAG_MS);
  return due === Infinity ? undefined : due;
}

/** How soon a run that an agent has is due at the latest, however long it may have it. */
export const MAX_LEASED_DUE_MS = 3_600_000;

/** Whether an agent has the run. */
export const isLeased = ({ status, work }: HeadMeta): boolean => status === 'RUNNING' && work?.lease !== undefined;

/** A head with its places: by status and by owner while it lives, and by when it is due. */
export function headRecord(partition: string, meta: HeadMeta): { readonly stored: StoredRecord } & HeadRecord {
  const { tenant } = parsePartition(partition);
  const order = timeOrder(meta.touchedAt);
  const due = headDueAt(meta);
  const isLive = meta.deletedUntil === undefined;
  const lists: ListEntries = {
    // What an agent runs just now is found by its due time; going in and out of a list at each claim would cost.
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
