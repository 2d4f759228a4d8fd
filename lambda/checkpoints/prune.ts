import { HoldpointError } from '../core/errors.ts';
import { ConditionFailedError, type Write } from '../storage/ports.ts';
import { fence } from './append.ts';
import type { RunContext } from './context.ts';
import { allRecords } from './history.ts';
import { payloadsInUse } from './in-use.ts';
import {
  type CheckpointRecord,
  isCheckpoint,
  type NameMeta,
  pruned,
  readCheckpoint,
  readMeta,
  usedAt,
} from './records.ts';
import { readNewest, runNotFound } from './tail.ts';
import { retried } from './update.ts';

export interface PruneOptions {
  /** How many of the newest checkpoints stay loadable. */
  readonly keepLast: number;
  /** Whether those with a name stay loadable too. @default true */
  readonly keepNamed?: boolean;
}

export interface PruneResult {
  /** Checkpoints that were emptied, and those that can still be loaded. */
  readonly emptied: number;
  readonly kept: number;
  readonly payloadsRemoved: number;
}

/**
 * Empties all checkpoints but those that are to be kept and what these stand on. What it does is appended first, as a checkpoint of
 * its own: a writer that holds an older one loses, so nothing can begin to point at what is removed.
 */
export async function prune(at: RunContext, options: PruneOptions): Promise<PruneResult> {
  const { keepLast, keepNamed = true } = options;
  if (!Number.isSafeInteger(keepLast) || keepLast < 1) {
    throw new HoldpointError(
      'INVALID_INPUT',
      `\`keepLast\` must be a whole number from 1: the newest checkpoint always stays; found ${keepLast}.`,
    );
  }
  return retried(async () => {
    const run = await readNewest(at);
    if (!run) throw runNotFound(at);
    const { checkpoints, names } = await readAll(at);
    const kept = keptVersions(checkpoints, keepLast, keepNamed ? names.map(({ meta }) => meta.version) : []);
    const goes = checkpoints.filter(({ version, meta }) => !kept.has(version) && !meta.e);
    if (goes.length === 0) {
      // Names that an earlier prune died before taking. Only of what is seen to be empty: newer ones may have come meanwhile.
      const emptied = new Set(checkpoints.filter(({ meta }) => meta.e).map(({ version }) => version));
      await removeNames(
        at,
        names.filter(({ meta }) => emptied.has(meta.version)),
      );
      return { emptied: 0, kept: kept.size, payloadsRemoved: 0 };
    }
    const loadable = new Set(checkpoints.filter(({ meta }) => !meta.e).map(({ version }) => version));
    const before = payloadsInUse(checkpoints, (version) => loadable.has(version));
    const inUse = payloadsInUse(checkpoints, (version) => kept.has(version));
    const pz = ranges(goes.map(({ version }) => version));
    await fence(at, run, { k: 'prune', pz, u: usedAt(run.newest.meta) });

    await removeNames(
      at,
      names.filter(({ meta }) => !kept.has(meta.version)),
    );
    await writeEach(
      at,
      goes.map((record): Write => ({ put: pruned(record), when: { revision: record.stored.revision } })),
    );
    const unused = [...before].filter((id) => !inUse.has(id));
    await at.payloads.remove(at.partition, unused);
    return { emptied: goes.length, kept: kept.size, payloadsRemoved: unused.length };
  });
}

interface Names {
  readonly key: string;
  readonly revision: string;
  readonly meta: NameMeta;
}

const removeNames = (at: RunContext, names: readonly Names[]): Promise<void> =>
  writeEach(
    at,
    names.map(({ key, revision }): Write => ({ remove: { partition: at.partition, key }, when: { revision } })),
  );

/** All checkpoints and names of a run. */
export async function readAll(
  at: RunContext,
): Promise<{ checkpoints: readonly CheckpointRecord[]; names: readonly Names[] }> {
  const checkpoints: CheckpointRecord[] = [];
  const names: Names[] = [];
  for await (const stored of allRecords(at, {})) {
    if (stored.key.startsWith('n')) names.push({ key: stored.key, revision: stored.revision, meta: readMeta(stored) });
    else if (isCheckpoint(stored)) checkpoints.push(readCheckpoint(stored));
  }
  return { checkpoints, names };
}

function keptVersions(
  checkpoints: readonly CheckpointRecord[],
  keepLast: number,
  named: readonly number[],
): ReadonlySet<number> {
  const byVersion = new Map(checkpoints.map((record) => [record.version, record]));
  // A prune holds nothing of its own: many of them must not push out what there is.
  const own = checkpoints.filter(({ meta }) => meta.k !== 'prune').slice(-keepLast);
  const newest = [...own, ...checkpoints.slice(-1)].map(({ version }) => version);
  const kept = new Set<number>();
  for (const version of [...newest, ...named]) {
    const record = byVersion.get(version);
    if (!record || record.meta.e) continue;
    for (let on = record.meta.a ?? version; on <= version; on++) kept.add(on);
  }
  return kept;
}

/** 1, 2, 3, 7 → [1, 3], [7, 7] */
function ranges(versions: readonly number[]): [number, number][] {
  const found: [number, number][] = [];
  for (const version of versions) {
    const last = found.at(-1);
    if (last && last[1] === version - 1) last[1] = version;
    else found.push([version, version]);
  }
  return found;
}

const AT_ONCE = 16;

/** Each write by itself, several at once; those whose record has changed meanwhile are left as they are. */
export async function writeEach(at: RunContext, writes: readonly Write[]): Promise<void> {
  const queue = writes.values();
  const worker = async () => {
    for (const write of queue) {
      try {
        await at.records.commit([write]);
      } catch (error) {
        if (!(error instanceof ConditionFailedError)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
