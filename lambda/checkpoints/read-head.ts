import { invalidInput } from '../core/invalid-input.ts';
import { CHECKPOINT_AND_HEAD_KEYS, HEAD_KEY, MAX_VERSION, versionKey } from '../storage/keys.ts';
import type { RunContext } from './context.ts';
import type { HeadMeta } from './format/meta.ts';
import {
  type CheckpointRecord,
  type HeadRecord,
  lastUsedAt,
  MAX_HEAD_LAG_MS,
  readCheckpoint,
  readHead,
} from './format/records.ts';
import { firstRecords } from './lists/scan.ts';
import { checkpointPruned, damagedError, runDeleted, runExpired, runNotFound } from './run-errors.ts';

type NewestCheckpoint = { readonly head: HeadRecord; readonly newest: CheckpointRecord } | undefined;

/** Reads the head and the newest checkpoint; undefined when there is no run. Throws when it is deleted or expired. */
export async function readNewest(at: RunContext): Promise<NewestCheckpoint> {
  const [first, second] = await firstRecords(at, { ...CHECKPOINT_AND_HEAD_KEYS, newestFirst: true }, 2);
  if (first?.key !== HEAD_KEY) return undefined;
  const head = readHead(first);
  checkNotDeleted(at, head.meta);
  if (!second) throw damagedError(`Run "${at.run}"`, 'it has a head but no checkpoints');
  const newest = readCheckpoint(second);
  if (newest.version < head.meta.version) return retryReadNewest(at, head);
  checkNotExpired(at, head.meta, lastUsedAt(newest.meta));
  return { head, newest };
}

/** A query is no snapshot, so a missing checkpoint may have been read too early. If it is missing again, it is lost. */
async function retryReadNewest(at: RunContext, head: HeadRecord): Promise<NewestCheckpoint> {
  const [stored] = await at.records.read(at.partition, [versionKey(head.meta.version)]);
  if (stored) return readNewest(at);
  throw damagedError(`Run "${at.run}"`, `its checkpoint ${head.meta.version} is missing`);
}

/** Reads the head of a run; throws when the run is missing, deleted or expired. */
export async function readLiveHead(at: RunContext): Promise<HeadRecord> {
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  if (!stored) throw runNotFound(at);
  const head = readHead(stored);
  await checkLive(at, head.meta);
  return head;
}

/** Throws RUN_EXPIRED when the last write is older than the retention. */
export function checkNotExpired(at: RunContext, { retentionMs, updatedAt }: HeadMeta, lastWrite: number): void {
  const last = Math.max(updatedAt, lastWrite);
  if (retentionMs !== undefined && at.now() >= last + retentionMs) throw runExpired(at.run, last, retentionMs);
}

function checkNotDeleted(at: RunContext, { deletedUntil }: HeadMeta): void {
  if (deletedUntil !== undefined) throw runDeleted(at.run, deletedUntil);
}

/**
 * Throws when a run is deleted or expired. The head may be an hour behind the last write, so only within that hour the
 * newest checkpoint must be read.
 */
export async function checkLive(at: RunContext, head: HeadMeta): Promise<void> {
  checkNotDeleted(at, head);
  if (head.retentionMs === undefined || at.now() < head.updatedAt + head.retentionMs) return;
  checkNotExpired(at, head, head.updatedAt + MAX_HEAD_LAG_MS);
  await readNewest(at);
}

/** Throws CHECKPOINT_PRUNED when a prune emptied the checkpoint. */
export function checkNotPruned(at: RunContext, record: CheckpointRecord): CheckpointRecord {
  if (record.meta.emptied) throw checkpointPruned(at.run, record.version);
  return record;
}

/** Rejects an invalid version. */
export function checkVersion(version: unknown, argument = 'The version', min = 1): number {
  if (typeof version === 'number' && Number.isInteger(version) && version >= min && version <= MAX_VERSION)
    return version;
  throw invalidInput(argument, `a whole number from ${min} to ${MAX_VERSION}`, version);
}
