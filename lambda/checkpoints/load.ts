import { isWaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import type { RunContext } from './context.ts';
import { cipherFor, type RunCipher } from './encryption/run-cipher.ts';
import { type Content, readContent } from './format/chain.ts';
import type { HeadMeta } from './format/meta.ts';
import {
  CHECKPOINT_AND_HEAD_KEYS,
  type CheckpointRecord,
  HEAD_KEY,
  type HeadRecord,
  lastUsedAt,
  MAX_HEAD_LAG_MS,
  MAX_VERSION,
  readCheckpoint,
  readHead,
  versionKey,
} from './format/records.ts';
import { checkpointPruned, damagedError, runDeleted, runExpired, runNotFound } from './run-errors.ts';
import { firstRecords } from './scan.ts';

/** A checkpoint that was opened, with all it takes to write the next one. */
export interface LoadedCheckpoint extends Content {
  readonly head: HeadRecord;
  readonly record: CheckpointRecord;
  readonly cipher: RunCipher;
  readonly seenAt: number;
}

/** Which checkpoint: a version, or the one that has a name. */
export type CheckpointSelector = number | { readonly version: number } | { readonly name: string };

/** Opens the newest checkpoint, or the one that is asked for; refuses what is deleted, expired, pruned or shredded. */
export async function loadCheckpoint(at: RunContext, which?: CheckpointSelector): Promise<LoadedCheckpoint> {
  const found = await findCheckpoint(at, which);
  try {
    return await openFound(at, found);
  } catch (error) {
    if (!isWaitstateError(error, 'DAMAGED') && !isWaitstateError(error, 'CHECKPOINT_PRUNED')) throw error;
    // It may have been pruned or deleted while it was read: then reading it again says so, or finds a newer one.
    const again = await findCheckpoint(at, which);
    if (again.records.at(-1)?.hash === found.records.at(-1)?.hash) throw error;
    return loadCheckpoint(at, which);
  }
}

/** Reads the records of a checkpoint, without what they hold; refuses what is gone. */
export const findCheckpoint = async (
  at: RunContext,
  which: CheckpointSelector | undefined,
): Promise<FoundCheckpoint> =>
  which === undefined ? newestRecord(at) : (await import('./find-named.ts')).findSelected(at, which);

async function openFound(at: RunContext, { head, records }: FoundCheckpoint): Promise<LoadedCheckpoint> {
  const cipher = await cipherFor(at, head.meta);
  const record = records.at(-1) as CheckpointRecord;
  const seen = at.cache.lastSeen(at.partition);
  const known = seen?.record.hash === record.hash && seen.head.meta.born === head.meta.born ? seen : undefined;
  const { root, model, chain } = known ?? (await readContent(at, cipher, await completed(at, records)));
  return { root, model, chain, head, record, cipher: cipher, seenAt: at.now() };
}

type Newest = { readonly head: HeadRecord; readonly newest: CheckpointRecord } | undefined;

/** The head and the newest checkpoint, or undefined when there is no run. Refuses what is deleted or expired. */
export async function readNewest(at: RunContext): Promise<Newest> {
  const [first, second] = await firstRecords(at, { ...CHECKPOINT_AND_HEAD_KEYS, newestFirst: true }, 2);
  if (first?.key !== HEAD_KEY) return undefined;
  const head = readHead(first);
  refuseDeleted(at, head.meta);
  if (!second) throw damagedError(`Run "${at.run}"`, 'it has a head but no checkpoints');
  const newest = readCheckpoint(second);
  if (newest.version < head.meta.version) return readAgain(at, head);
  checkNotExpired(at, head.meta, lastUsedAt(newest.meta));
  return { head, newest };
}

/** What a query reads is not of one moment; but what is missing twice, for one head, is lost. */
async function readAgain(at: RunContext, head: HeadRecord): Promise<Newest> {
  const [stored] = await at.records.read(at.partition, [versionKey(head.meta.version)]);
  if (stored) return readNewest(at);
  throw damagedError(`Run "${at.run}"`, `its checkpoint ${head.meta.version} is missing`);
}

/** The head of a run that can be read; refuses what is deleted or expired. */
export async function readLiveHead(at: RunContext): Promise<HeadRecord> {
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  if (!stored) throw runNotFound(at);
  const head = readHead(stored);
  await checkLive(at, head.meta);
  return head;
}

/** Refuses a run that was not written to for longer than its retention. */
export function checkNotExpired(at: RunContext, { retentionMs, touchedAt }: HeadMeta, lastWrite: number): void {
  const last = Math.max(touchedAt, lastWrite);
  if (retentionMs !== undefined && at.now() >= last + retentionMs) throw runExpired(at.run, last, retentionMs);
}

function refuseDeleted(at: RunContext, { deletedUntil }: HeadMeta): void {
  if (deletedUntil !== undefined) throw runDeleted(at.run, deletedUntil);
}

/** The head may be an hour behind the last write: only in that hour the newest checkpoint has to be asked. */
export async function checkLive(at: RunContext, head: HeadMeta): Promise<void> {
  refuseDeleted(at, head);
  if (head.retentionMs === undefined || at.now() < head.touchedAt + head.retentionMs) return;
  checkNotExpired(at, head, head.touchedAt + MAX_HEAD_LAG_MS);
  await readNewest(at);
}

/** A checkpoint that was found, not opened. */
export interface FoundCheckpoint {
  readonly head: HeadRecord;
  /** The record that is asked for, last, and what it stands on where that was read too. */
  readonly records: readonly CheckpointRecord[];
}

async function newestRecord(at: RunContext): Promise<FoundCheckpoint> {
  const found = await readNewest(at);
  if (!found) throw runNotFound(at);
  return { head: found.head, records: [found.newest] };
}

/** Puts in front of a record what it stands on. */
async function completed(at: RunContext, records: readonly CheckpointRecord[]): Promise<readonly CheckpointRecord[]> {
  const [record, more] = records;
  const anchor = record?.meta.anchor;
  if (!record || more || anchor === undefined) return records;
  const before = await firstRecords(at, { from: versionKey(anchor), to: versionKey(record.version - 1) });
  // A prune may be at work, or have died halfway: then what this stands on is empty, and it is not yet.
  return [...before.map((stored) => checkNotPruned(at, readCheckpoint(stored))), record];
}

export function checkNotPruned(at: RunContext, record: CheckpointRecord): CheckpointRecord {
  if (record.meta.emptied) throw checkpointPruned(at.run, record.version);
  return record;
}

/** Refuses what is not a version. */
export function checkVersion(version: unknown, argument = 'The version', least = 1): number {
  if (typeof version === 'number' && Number.isInteger(version) && version >= least && version <= MAX_VERSION)
    return version;
  throw invalidInput(argument, `a whole number from ${least} to ${MAX_VERSION}`, version);
}
