import { randomBytes } from 'node:crypto';
import { HoldpointError, isHoldpointError } from '../core/errors.ts';
import type { StoredRecord } from '../storage/ports.ts';
import { type Content, readContent } from './chain.ts';
import type { RunContext } from './context.ts';
import type { KeyContext } from './keys.ts';
import {
  type CheckpointRecord,
  HEAD_KEY,
  type HeadMeta,
  type HeadRecord,
  MAX_VERSION,
  type NameMeta,
  nameKey,
  readCheckpoint,
  readHead,
  readMeta,
  TOUCH_MS,
  usedAt,
  versionKey,
} from './records.ts';
import { notSealed, type Sealing, sealedBy } from './sealing.ts';

/** A checkpoint that was opened, with all it takes to write the next one. */
export interface Tail extends Content {
  readonly head: HeadRecord;
  readonly record: CheckpointRecord;
  readonly sealing: Sealing;
  readonly seenAt: number;
}

/** Which checkpoint: a version, a name, or the newest. */
export interface At {
  readonly version?: number;
  readonly name?: string;
}

/** The newest checkpoint, or the one that is named; refuses what is deleted, expired, pruned or shredded. */
export async function openTail(at: RunContext, which: At = {}): Promise<Tail> {
  if (which.version !== undefined) checkVersion(which.version);
  const found = await readChain(at, which);
  try {
    return await openChain(at, found);
  } catch (error) {
    if (!isHoldpointError(error, 'DAMAGED') && !isHoldpointError(error, 'CHECKPOINT_PRUNED')) throw error;
    // It may have been pruned or deleted while it was read: then reading it again says so, or finds a newer one.
    const { chain } = await readChain(at, which);
    if (chain.at(-1)?.revision === found.chain.at(-1)?.revision) throw error;
    return openTail(at, which);
  }
}

/** Throws what went wrong while the content of a checkpoint was used, or the reason for it: it was pruned or deleted meanwhile. */
export async function throwReason(at: RunContext, version: number, error: unknown): Promise<never> {
  if (isHoldpointError(error, 'DAMAGED')) await readChain(at, { version });
  throw error;
}

async function openChain(at: RunContext, { head, chain }: Found): Promise<Tail> {
  const sealing = await sealingOf(at, head.meta);
  const record = chain.at(-1) as CheckpointRecord;
  const seen = at.tails.get(at.partition);
  const content =
    seen && seen.record.revision === record.revision && seen.head.meta.born === head.meta.born
      ? seen
      : await readContent(at, sealing, await completed(at, chain));
  const { root, model } = content;
  return { root, model, chain: content.chain, head, record, sealing, seenAt: at.now() };
}

/** The head and the newest checkpoint, or undefined when there is no run. */
export async function readNewest(at: RunContext): Promise<{ head: HeadRecord; newest: CheckpointRecord } | undefined> {
  const found = await firstRecords(at, { from: versionKey(0), to: HEAD_KEY, newestFirst: true }, 2);
  const [first, second] = found;
  if (!first || first.key !== HEAD_KEY) return undefined;
  const head = readHead(first);
  refuseDeleted(at, head.meta);
  if (!second) throw missingNewest(at);
  const newest = readCheckpoint(second);
  refuseExpired(at, head.meta, usedAt(newest.meta));
  return { head, newest };
}

/** The head of a run that can be read; refuses what is deleted or expired. */
export async function readLiveHead(at: RunContext): Promise<HeadRecord> {
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  if (!stored) throw runNotFound(at);
  const head = readHead(stored);
  await refuseEnded(at, head.meta);
  return head;
}

/** The last record of the chain is what was asked for; what it stands on may be in front of it already. */
interface Found {
  readonly head: HeadRecord;
  readonly chain: readonly CheckpointRecord[];
}

async function readChain(at: RunContext, which: At): Promise<Found> {
  if (which.version === undefined && which.name === undefined) {
    const newest = await readNewest(at);
    if (!newest) throw runNotFound(at);
    return { head: newest.head, chain: [newest.newest] };
  }
  const key = which.version === undefined ? nameKey(which.name ?? '') : versionKey(which.version);
  const found = await at.records.read(at.partition, [HEAD_KEY, key]);
  const stored = found.find((record) => record.key === key);
  const headRecord = found.find((record) => record.key === HEAD_KEY);
  if (!headRecord) throw runNotFound(at);
  const head = readHead(headRecord);
  await refuseEnded(at, head.meta);
  const wanted = which.version === undefined ? `checkpoint named "${which.name}"` : `checkpoint ${which.version}`;
  if (!stored) {
    throw new HoldpointError(
      'CHECKPOINT_NOT_FOUND',
      `Run "${at.run}" has no ${wanted}. \`history\` lists those it has.`,
    );
  }
  if (which.version !== undefined) return { head, chain: [refusePruned(at, readCheckpoint(stored))] };
  const name = readMeta<NameMeta>(stored);
  const range = { from: versionKey(name.anchor), to: versionKey(name.version) };
  return { head, chain: (await firstRecords(at, range)).map((record) => refusePruned(at, readCheckpoint(record))) };
}

/** Puts in front of the last record what it stands on. */
async function completed(at: RunContext, chain: readonly CheckpointRecord[]): Promise<readonly CheckpointRecord[]> {
  const last = chain.at(-1);
  const anchor = last?.meta.a;
  if (!last || anchor === undefined || chain.length > 1) return chain;
  const before = await firstRecords(at, { from: versionKey(anchor), to: versionKey(last.version - 1) });
  // A prune may be at work, or have died halfway: then what this stands on is empty, and it is not yet.
  return [...before.map((record) => refusePruned(at, readCheckpoint(record))), last];
}

/** Records of a range up to a number, page by page. */
async function firstRecords(
  at: RunContext,
  range: { from: string; to: string; newestFirst?: boolean },
  count = Number.POSITIVE_INFINITY,
): Promise<readonly StoredRecord[]> {
  const records: StoredRecord[] = [];
  let after: string | undefined;
  do {
    const limit = count - records.length;
    const page = await at.records.range(at.partition, {
      ...range,
      ...(Number.isFinite(limit) && { limit }),
      ...(after !== undefined && { after }),
    });
    records.push(...page.records);
    after = page.next;
  } while (after !== undefined && records.length < count);
  return records;
}

function refusePruned(at: RunContext, record: CheckpointRecord): CheckpointRecord {
  if (!record.meta.e) return record;
  throw new HoldpointError(
    'CHECKPOINT_PRUNED',
    `Checkpoint ${record.version} of run "${at.run}" was emptied by a prune; only its place in history is left. \`history\` shows which can be loaded.`,
  );
}

function refuseDeleted(at: RunContext, head: HeadMeta): void {
  if (head.deletedUntil === undefined) return;
  throw runDeleted(at.run, head.deletedUntil);
}

export function refuseExpired(at: RunContext, head: HeadMeta, lastWrite: number): void {
  const { retention } = head;
  if (retention === undefined || at.now() < Math.max(head.touched, lastWrite) + retention) return;
  throw new HoldpointError(
    'RUN_EXPIRED',
    `Run "${at.run}" was last written to ${new Date(lastWrite).toISOString()} and is kept for ${retention / 1000} seconds after that.`,
    { scope: 'run' },
  );
}

/** The head may be an hour behind the last write: only in that hour the newest checkpoint has to be asked. */
async function refuseEnded(at: RunContext, head: HeadMeta): Promise<void> {
  refuseDeleted(at, head);
  if (head.retention === undefined || at.now() < head.touched + head.retention) return;
  if (at.now() >= head.touched + head.retention + TOUCH_MS) refuseExpired(at, head, head.touched + TOUCH_MS);
  await readNewest(at);
}

export function checkVersion(version: unknown, what = 'version', least = 1): asserts version is number {
  if (typeof version === 'number' && Number.isInteger(version) && version >= least && version <= MAX_VERSION) return;
  const found = typeof version === 'number' ? version : `${typeof version} ${JSON.stringify(version)}`;
  throw new HoldpointError(
    'INVALID_INPUT',
    `The ${what} must be a whole number from ${least} to ${MAX_VERSION}; found ${found}.`,
  );
}

export const runNotFound = (at: { run: string; tenant: string }): HoldpointError =>
  new HoldpointError('RUN_NOT_FOUND', `There is no run "${at.run}" of tenant "${at.tenant}".`);

export const runDeleted = (run: string, until?: number): HoldpointError =>
  new HoldpointError(
    'RUN_DELETED',
    `Run "${run}" was deleted${until === undefined ? '' : `; its id can be used again from ${new Date(until).toISOString()}`}.`,
    { scope: 'run' },
  );

export const runShredded = (run: string): HoldpointError =>
  new HoldpointError(
    'RUN_SHREDDED',
    `The key of run "${run}" was destroyed; nobody can read it again. It can still be listed and deleted.`,
    {
      scope: 'run',
    },
  );

const missingNewest = (at: RunContext): HoldpointError =>
  new HoldpointError('DAMAGED', `Run "${at.run}" has a head but no checkpoints.`, { scope: 'run' });

/** How the bytes of a run are opened; asks the key ring at most once for each run. */
export async function sealingOf(at: RunContext, head: HeadMeta): Promise<Sealing> {
  if (head.shredded) throw runShredded(at.run);
  if (!head.key) {
    if (!at.keys || at.acceptUnencrypted) return notSealed;
    throw new HoldpointError(
      'RUN_NOT_ENCRYPTED',
      `Run "${at.run}" is not encrypted, and this store has keys. If it was written before there were keys, open the store with \`acceptUnencrypted: true\`.`,
      { scope: 'run' },
    );
  }
  if (!at.keys) {
    throw new HoldpointError(
      'KEY_UNAVAILABLE',
      `Run "${at.run}" is encrypted under key "${head.key.by}", and this store has no keys. Pass \`keys\`.`,
    );
  }
  const known = at.tails.sealings.get(head.key.wrapped);
  if (known) return known;
  const sealing = sealedBy(await at.keys.unwrap(head.key, keyContext(at, head.owner)));
  at.tails.sealings.set(head.key.wrapped, sealing);
  return sealing;
}

export const keyContext = (at: RunContext, owner: string | undefined): KeyContext => ({
  tenant: at.tenant,
  run: at.run,
  owner: owner ?? '',
});

/** A new data key, and its wrapping for the head; nothing when the store has no keys. */
export async function newKey(
  at: RunContext,
  owner: string | undefined,
): Promise<{ sealing: Sealing; key: Pick<HeadMeta, 'key'> }> {
  if (!at.keys) return { sealing: notSealed, key: {} };
  const key = randomBytes(32);
  return { sealing: sealedBy(key), key: { key: await at.keys.wrap(key, keyContext(at, owner)) } };
}

// For this long a checkpoint is written on without looking first. Far below the time for which a deleted run's keys stay taken.
const TRUST_MS = 5 * 60_000;

/** The newest checkpoints that this process knows, so that a step costs one request. */
export interface Tails {
  get(partition: string): Tail | undefined;
  /** The same, unless it was seen too long ago to write on it unseen. */
  fresh(partition: string, now: number): Tail | undefined;
  set(partition: string, tail: Tail): void;
  forget(partition: string): void;
  /** What the caller of this store last saw of each run: what a save follows when it names no version. */
  readonly held: Map<string, Held>;
  /** When this store stored payloads that no record points at yet, by their id: they are safe from everyone but the collector. */
  readonly unpointed: Map<string, number>;
  readonly sealings: Map<string, Sealing>;
}

/** A checkpoint, and no other under its version: the run may have been deleted and begun again. */
export type Held = Pick<CheckpointRecord, 'version' | 'revision'>;

const HELD = 10_000;

export function tailsCache(size: number): Tails {
  const tails = new Map<string, Tail>();
  const held = new Map<string, Held>();
  const sealings = new Map<string, Sealing>();
  const bounded = <V>(map: Map<string, V>, most = size) => {
    const [oldest] = map.keys();
    if (map.size > most && oldest !== undefined) map.delete(oldest);
  };
  return {
    held,
    unpointed: new Map(),
    sealings,
    get: (partition) => tails.get(partition),
    fresh(partition, now) {
      const tail = tails.get(partition);
      return tail && Math.abs(now - tail.seenAt) < TRUST_MS ? tail : undefined;
    },
    set(partition, tail) {
      tails.delete(partition);
      tails.set(partition, tail);
      bounded(tails);
      bounded(held, HELD);
      bounded(sealings);
    },
    forget: (partition) => void tails.delete(partition),
  };
}
