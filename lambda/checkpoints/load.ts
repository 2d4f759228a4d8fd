import { isWaitstateError } from '../core/errors.ts';
import { versionKey } from '../storage/keys.ts';
import type { RunContext } from './context.ts';
import { cipherFor } from './encryption/cipher-for.ts';
import { readContent } from './format/chain.ts';
import { type CheckpointRecord, readCheckpoint } from './format/records.ts';
import { firstRecords } from './lists/scan.ts';
import type { CheckpointSelector, FoundCheckpoint, LoadedCheckpoint } from './loaded-checkpoint.ts';
import { checkNotPruned, readNewest } from './read-head.ts';
import { runNotFound } from './run-errors.ts';

/** Loads the newest or the selected checkpoint; throws when it is deleted, expired, pruned or shredded. */
export async function loadCheckpoint(at: RunContext, selector?: CheckpointSelector): Promise<LoadedCheckpoint> {
  const found = await findCheckpoint(at, selector);
  try {
    return await loadFound(at, found);
  } catch (error) {
    if (!isWaitstateError(error, 'DAMAGED') && !isWaitstateError(error, 'CHECKPOINT_PRUNED')) throw error;
    // A concurrent prune or delete looks like damage: a second read finds that out, or finds a newer checkpoint.
    const refetched = await findCheckpoint(at, selector);
    if (refetched.records.at(-1)?.hash === found.records.at(-1)?.hash) throw error;
    return loadCheckpoint(at, selector);
  }
}

/** Finds the records of a checkpoint without decrypting them; throws when the run or checkpoint is gone. */
export const findCheckpoint = async (
  at: RunContext,
  selector: CheckpointSelector | undefined,
): Promise<FoundCheckpoint> =>
  selector === undefined ? findNewest(at) : (await import('./find-named.ts')).findSelected(at, selector);

/** Decrypts and reads the content of a checkpoint. */
export async function loadFound(at: RunContext, { head, records }: FoundCheckpoint): Promise<LoadedCheckpoint> {
  const cipher = await cipherFor(at, head.meta);
  const record = records.at(-1) as CheckpointRecord;
  const cached = at.cache.lastSeen(at.partition);
  const reusable = cached?.record.hash === record.hash && cached.head.meta.uid === head.meta.uid ? cached : undefined;
  const { root, model, chain } = reusable ?? (await readContent(at, cipher, await withChain(at, records)));
  return { root, model, chain, head, record, cipher, seenAt: at.now() };
}

async function findNewest(at: RunContext): Promise<FoundCheckpoint> {
  const found = await readNewest(at);
  if (!found) throw runNotFound(at);
  return { head: found.head, records: [found.newest] };
}

/** Adds the earlier records of the chain that a record needs. */
export async function withChain(
  at: RunContext,
  records: readonly CheckpointRecord[],
): Promise<readonly CheckpointRecord[]> {
  const [record, second] = records;
  const anchor = record?.meta.anchor;
  if (!record || second || anchor === undefined) return records;
  const before = await firstRecords(at, { from: versionKey(anchor), to: versionKey(record.version - 1) });
  // A prune that is still running, or crashed, may have emptied the chain but not this record yet.
  return [...before.map((stored) => checkNotPruned(at, readCheckpoint(stored))), record];
}
