import { isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { parsePartition } from '../../core/ids.ts';
import { CHECKPOINT_KEYS, HEAD_KEY, parseVersion, SHARDS, shardGroup, timeOrder } from '../../storage/keys.ts';
import { ConditionFailedError, type Write } from '../../storage/ports.ts';
import type { Predecessor } from '../commit.ts';
import type { Context, RunContext } from '../context.ts';
import { deletedRecord, fallbackMeta } from '../format/emptied-record.ts';
import { type HeadMeta, isUnreadable, readCheckpointMeta, readHeadMeta } from '../format/meta.ts';
import { type HeadRecord, headRecord, lastUsedAt, readHead } from '../format/records.ts';
import { firstRecords, scanPages, scanRecords } from '../lists/scan.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';
import { runNotFound } from '../run-errors.ts';
import { writeEach } from '../write-each.ts';
import { fence } from './fence.ts';

// How long the id of a deleted run stays reserved: far longer than any process caches a checkpoint.
const TOMBSTONE_MS = 24 * 3_600_000;
// How long a sweeper has exclusive access to one run.
const SWEEP_LEASE_MS = 3_600_000;

/** Deletes a run permanently. Its id stays reserved for a day, so that no late writer can bring it back. */
export async function deleteRun(at: RunContext): Promise<void> {
  await retryOnConflict(async () => {
    const head = await readHeadToDelete(at);
    if (!head) throw runNotFound(at);
    checkNotLeased(at, head.meta);
    const tombstone =
      head.meta.deletedUntil === undefined
        ? await writeTombstone(at, head, await readNewestOrFallback(at, head))
        : head;
    await emptyRun(at, tombstone ?? (await readStoredHead(at)) ?? head);
  });
}

/** Rejects deleting a leased run, because its agent would lose paid work. */
function checkNotLeased(at: RunContext, { work }: HeadMeta): void {
  const until = work?.lease?.until ?? 0;
  if (until <= at.now()) return;
  throw new WaitstateError(
    'TRANSITION_REFUSED',
    `Run "${at.run}" is running, and its lease lasts until ${new Date(until).toISOString()}. Cancel the run first.`,
    { scope: 'run' },
  );
}

/** The head, or a fallback for a damaged one. */
async function readHeadToDelete(at: RunContext): Promise<HeadRecord | undefined> {
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  const meta = stored && readHeadMeta(stored.meta);
  if (!stored || !meta || !('problem' in meta)) return stored && readHead(stored);
  const now = at.now();
  const fallback = {
    uid: '',
    createdAt: now,
    updatedAt: now,
    version: 0,
    hash: '',
    stepNumber: 0,
    status: 'RUNNING' as const,
  };
  return { revision: stored.revision, meta: fallback };
}

async function readStoredHead(at: RunContext): Promise<HeadRecord | undefined> {
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  return stored && readHead(stored);
}

/** The newest checkpoint, or a fallback when it is damaged or missing, because a damaged run must be deletable. */
async function readNewestOrFallback(at: RunContext, { meta: head }: HeadRecord): Promise<Predecessor['record']> {
  const [stored] = await firstRecords(at, { ...CHECKPOINT_KEYS, newestFirst: true }, 1);
  if (!stored) return { version: 0, hash: head.uid, meta: fallbackMeta(head) };
  const meta = readCheckpointMeta(stored.meta);
  return {
    version: parseVersion(stored.key),
    hash: stored.revision,
    meta: isUnreadable(meta) ? fallbackMeta(head) : meta,
  };
}

/**
 * Replaces the head with a tombstone that reveals nothing about the run, and takes the next version. Undefined when
 * another process did so at the same time.
 */
async function writeTombstone(
  at: RunContext,
  head: HeadRecord,
  record: Predecessor['record'],
): Promise<HeadRecord | undefined> {
  // Counted from the last use of the run if that is later, because this clock may be behind.
  const deletedUntil = Math.max(at.now(), head.meta.updatedAt, lastUsedAt(record.meta)) + TOMBSTONE_MS;
  const clearedFields = {
    agent: undefined,
    owner: undefined,
    requestedBy: undefined,
    tags: undefined,
    parent: undefined,
    key: undefined,
    retentionMs: undefined,
    work: undefined,
  };
  const anonymized = { ...record, meta: { ...record.meta, step: undefined, labels: undefined } };
  try {
    return await fence(at, { head, record: anonymized }, { kind: 'delete' }, { ...clearedFields, deletedUntil });
  } catch (error) {
    if (isWaitstateError(error, 'RUN_DELETED')) return undefined;
    throw error;
  }
}

/**
 * Empties the checkpoints of a deleted run but keeps their keys, which reject a late writer; removes everything else.
 */
async function emptyRun(at: RunContext, tombstone: HeadRecord): Promise<void> {
  const writes: Write[] = [];
  for await (const stored of scanRecords(at)) {
    if (stored.key === HEAD_KEY) continue;
    const when = { revision: stored.revision };
    const meta = readCheckpointMeta(stored.meta);
    const isEmptied = !isUnreadable(meta) && (meta.emptied === 'deleted' || meta.kind === 'delete');
    if (parseVersion(stored.key) === 0) writes.push({ remove: stored, when });
    else if (!isEmptied) writes.push({ put: deletedRecord(stored, tombstone.meta), when });
  }
  // While the tombstone is active, the records belong to the deleted run and not to a new one with the same id.
  if (isTombstoneActive(at, tombstone.meta)) await writeEach(at, writes);
  await removePayloads(at, tombstone.meta);
}

/** Whether the id cannot have been freed yet, so that everything read before belongs to the deleted run. */
const isTombstoneActive = (at: RunContext, { deletedUntil = 0 }: HeadMeta): boolean => at.now() < deletedUntil;

/** Removes payloads only while the tombstone is active; later, they could belong to a new run with the same id. */
async function removePayloads(at: RunContext, tombstone: HeadMeta): Promise<void> {
  let batch: string[] = [];
  const flush = async () => {
    if (batch.length > 0 && isTombstoneActive(at, tombstone)) await at.payloads.remove(at.partition, batch);
    batch = [];
  };
  for await (const { id } of at.payloads.list(at.partition)) {
    if (batch.push(id) >= 1000) await flush();
  }
  await flush();
}

/** Which tenants to sweep or collect. */
export interface TenantScopeOptions {
  /** Whether to include all other tenants; for the single sweeper of a deployment. @default false */
  readonly everyTenant?: boolean;
}

/** A run that could not be processed, and why. Nothing that is in use was removed. */
export interface FailedRun {
  readonly tenant: string;
  readonly run: string;
  readonly error: unknown;
}

/** The result of a sweep. */
export interface SweepResult {
  /** The number of runs that were removed because their retention expired. */
  readonly expired: number;
  /** The number of deleted runs whose last records were removed, so that their ids can be reused. */
  readonly freed: number;
  /** Runs that could not be processed; they stay due. */
  readonly failed: readonly FailedRun[];
}

/** Processes every due run: removes expired runs, and frees the ids of runs that were deleted long enough ago. */
export async function sweep(context: Context, { everyTenant = false }: TenantScopeOptions): Promise<SweepResult> {
  const result = { expired: 0, freed: 0, failed: [] as FailedRun[] };
  for (const shard of SHARDS) {
    const group = shardGroup(shard);
    const due = { to: timeOrder(context.now()), limit: 100 };
    for await (const { partition } of scanPages((from) => context.records.list('due', group, { ...due, ...from }))) {
      const ids = parsePartition(partition);
      if (!everyTenant && ids.tenant !== context.tenant) continue;
      try {
        const swept = await sweepRun({ ...context, ...ids, partition });
        if (swept) result[swept]++;
      } catch (error) {
        result.failed.push({ ...ids, error });
      }
    }
  }
  return result;
}

/** Processes one due run: removes it if it has expired, or frees its id if it was deleted long enough ago. */
export async function sweepRun(at: RunContext): Promise<'expired' | 'freed' | undefined> {
  return retryOnConflict(async () => {
    const head = await readStoredHead(at);
    if (!head) return undefined;
    const { deletedUntil, retentionMs, updatedAt } = head.meta;
    if (deletedUntil !== undefined)
      return deletedUntil <= at.now() && (await freeRunId(at, head)) ? 'freed' : undefined;
    if (retentionMs === undefined) return undefined;
    const newest = await readNewestOrFallback(at, head);
    const lastWrite = Math.max(updatedAt, lastUsedAt(newest.meta));
    if (lastWrite + retentionMs <= at.now()) {
      const tombstone = await writeTombstone(at, head, newest);
      // Another sweeper was first, and empties the run.
      if (!tombstone) return undefined;
      await emptyRun(at, tombstone);
      return 'expired';
    }
    // The run is in use and only its head was behind; update it.
    const renewed = headRecord(at.partition, { ...head.meta, updatedAt: lastWrite });
    await writeEach(at, [{ put: renewed.stored, when: { revision: head.revision } }]);
    return undefined;
  });
}

/**
 * Removes all remaining records of a deleted run, the tombstone last; claims it first, so that only one sweeper does.
 */
async function freeRunId(at: RunContext, head: HeadRecord): Promise<boolean> {
  const claimed = headRecord(at.partition, { ...head.meta, deletedUntil: at.now() + SWEEP_LEASE_MS });
  try {
    await at.records.commit([{ put: claimed.stored, when: { revision: head.revision } }]);
    await removePayloads(at, claimed.meta);
    const writes: Write[] = [];
    for await (const stored of scanRecords(at)) {
      if (stored.key !== HEAD_KEY) writes.push({ remove: stored, when: { revision: stored.revision } });
    }
    if (!isTombstoneActive(at, claimed.meta)) return false;
    await writeEach(at, writes);
    await at.records.commit([{ remove: claimed.stored, when: { revision: claimed.revision } }]);
    return true;
  } catch (error) {
    if (error instanceof ConditionFailedError) return false;
    throw error;
  }
}
