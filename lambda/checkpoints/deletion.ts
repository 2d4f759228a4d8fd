import { isHoldpointError } from '../core/errors.ts';
import { idsOf, partitionOf } from '../core/ids.ts';
import { ConditionFailedError, type StoredRecord, type Write } from '../storage/ports.ts';
import { fence } from './append.ts';
import type { Context, RunContext } from './context.ts';
import { allRecords, isOf } from './history.ts';
import { writeEach } from './prune.ts';
import {
  type CheckpointMeta,
  type CheckpointRecord,
  deleted,
  dueGroups,
  HEAD_KEY,
  type HeadRecord,
  headRecord,
  isCheckpoint,
  readHead,
  readMeta,
  timeOrder,
  usedAt,
} from './records.ts';
import { runNotFound } from './tail.ts';
import { retried } from './update.ts';

// How long a deleted run's id is refused: far longer than any process holds on to a checkpoint.
const TOMBSTONE_MS = 24 * 3_600_000;
// How long a sweeper has for one run; nobody else sweeps it meanwhile.
const SWEEP_MS = 3_600_000;

/** Removes a run for good. Its id is refused for a day, so that no late writer can bring it back. */
export async function deleteRun(at: RunContext): Promise<void> {
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  if (!stored) throw runNotFound(at);
  await retried(() => entomb(at));
}

/** Puts a tombstone in place of the head and takes the next version, then removes what is behind it. */
async function entomb(at: RunContext, stillDue?: (newest: CheckpointMeta) => boolean): Promise<boolean> {
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  if (!stored) return false;
  let head = readHead(stored);
  if (head.meta.deletedUntil === undefined) {
    const newest = await newestOf(at, head);
    if (stillDue && !stillDue(newest.meta)) return false;
    const bare = { agent: undefined, owner: undefined, tags: undefined, key: undefined, retention: undefined };
    // Counted from the last use of the run where that is later: this clock may be behind.
    const deletedUntil = Math.max(at.now(), head.meta.touched, usedAt(newest.meta)) + TOMBSTONE_MS;
    try {
      head = await fence(at, { head, newest }, { k: 'delete' }, { ...bare, deletedUntil });
    } catch (error) {
      // Somebody else deleted it at the same time.
      if (isHoldpointError(error, 'RUN_DELETED')) return entomb(at, stillDue);
      throw error;
    }
  } else if (stillDue) {
    // Another sweeper was faster, and empties it.
    return false;
  }
  await empty(at, head);
  return true;
}

/** The newest checkpoint, though it may be damaged: what is broken must be deletable. */
async function newestOf(
  at: RunContext,
  head: HeadRecord,
): Promise<Pick<CheckpointRecord, 'version' | 'revision' | 'meta'>> {
  const page = await at.records.range(at.partition, { from: 'c0', to: 'c:', newestFirst: true, limit: 1 });
  const [stored] = page.records;
  if (!stored) return { version: 0, revision: head.meta.born, meta: unknownMeta(head) };
  return {
    version: Number(stored.key.slice(1)),
    revision: stored.revision,
    meta: lenient(stored) ?? unknownMeta(head),
  };
}

const unknownMeta = ({ meta: { touched: t, stepNumber: n } }: HeadRecord): CheckpointMeta => ({
  t,
  n,
  w: '',
  by: '',
  p: '',
});

function lenient(stored: StoredRecord): CheckpointMeta | undefined {
  try {
    return readMeta<CheckpointMeta>(stored);
  } catch {
    return undefined;
  }
}

/** Empties the records of a deleted run but leaves their keys, so that a late writer is refused, and removes names and payloads. */
async function empty(at: RunContext, tombstone: HeadRecord): Promise<void> {
  const writes: Write[] = [];
  for await (const stored of allRecords(at, {})) {
    if (stored.key === HEAD_KEY) continue;
    const when = { revision: stored.revision };
    if (!isCheckpoint(stored)) {
      writes.push({ remove: stored, when });
      continue;
    }
    const meta = lenient(stored) ?? unknownMeta(tombstone);
    if (meta.e !== 2 && meta.k !== 'delete')
      writes.push({ put: deleted({ version: 0, revision: stored.revision, meta, stored }), when });
  }
  await writeEach(at, writes);
  await removePayloads(at, tombstone);
}

/** Only behind a tombstone that still stands: after it, the payloads could be those of a run that was begun again. */
async function removePayloads(at: RunContext, tombstone: HeadRecord): Promise<void> {
  const standsUntil = tombstone.meta.deletedUntil ?? 0;
  let batch: string[] = [];
  const flush = async () => {
    if (at.now() < standsUntil) await at.payloads.remove(at.partition, batch);
    batch = [];
  };
  for await (const { id } of at.payloads.list(`${at.partition}/`)) {
    if (batch.push(id) >= 1000) await flush();
  }
  await flush();
}

export interface SweepResult {
  /** Runs that were removed because nobody wrote to them for longer than their retention. */
  readonly expired: number;
  /** Ids that can be used again: everything behind the tombstone is gone. */
  readonly freed: number;
  /** Runs that could not be swept, and why; they stay due. */
  readonly failed: readonly { readonly run: string; readonly error: unknown }[];
}

export interface SweepOptions {
  /** Also what belongs to other tenants; for the one sweeper of a deployment. */
  readonly everyTenant?: boolean;
}

/** Looks at every run that is due: removes what expired, and frees the ids of what was deleted long enough ago. */
export async function sweep(context: Context, options: SweepOptions): Promise<SweepResult> {
  const result = { expired: 0, freed: 0, failed: [] as { run: string; error: unknown }[] };
  for (const group of dueGroups) {
    let after: string | undefined;
    do {
      const page = await context.records.list('due', group, {
        to: timeOrder(context.now()),
        limit: 100,
        ...(after !== undefined && { after }),
      });
      for (const { partition } of page.records) {
        if (!options.everyTenant && !isOf(context.tenant, partition)) continue;
        const { tenant, run } = idsOf(partition);
        try {
          const swept = await sweepRun({ ...context, tenant, run, partition: partitionOf(tenant, run) });
          if (swept) result[swept]++;
        } catch (error) {
          result.failed.push({ run, error });
        }
      }
      after = page.next;
    } while (after !== undefined);
  }
  return result;
}

async function sweepRun(at: RunContext): Promise<'expired' | 'freed' | undefined> {
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  if (!stored) return undefined;
  const head = readHead(stored);
  const { deletedUntil, retention, touched } = head.meta;
  if (deletedUntil !== undefined) return deletedUntil <= at.now() && (await free(at, head)) ? 'freed' : undefined;
  if (retention === undefined) return undefined;
  let lastWrite = touched;
  const expired = (newest: CheckpointMeta) => {
    lastWrite = Math.max(lastWrite, usedAt(newest));
    return lastWrite + retention <= at.now();
  };
  if (await retried(() => entomb(at, expired))) return 'expired';
  // In use: the head was behind. Now it is not.
  const renewed = headRecord(at.partition, { ...head.meta, touched: lastWrite });
  await writeEach(at, [{ put: renewed, when: { revision: head.revision } }]);
  return undefined;
}

/** Removes everything that is left of a deleted run, the tombstone last. Claims it first: two sweepers never work behind one. */
async function free(at: RunContext, head: HeadRecord): Promise<boolean> {
  const claimed = headRecord(at.partition, { ...head.meta, deletedUntil: at.now() + SWEEP_MS });
  try {
    await at.records.commit([{ put: claimed, when: { revision: head.revision } }]);
    await removePayloads(at, readHead(claimed));
    const writes: Write[] = [];
    for await (const stored of allRecords(at, {})) {
      if (stored.key !== HEAD_KEY) writes.push({ remove: stored, when: { revision: stored.revision } });
    }
    await writeEach(at, writes);
    await at.records.commit([{ remove: claimed, when: { revision: claimed.revision } }]);
    return true;
  } catch (error) {
    if (error instanceof ConditionFailedError) return false;
    throw error;
  }
}
