import { invalidInput } from '../../core/invalid-input.ts';
import type { Write } from '../../storage/ports.ts';

import type { RunContext } from '../context.ts';
import { prunedRecord } from '../format/emptied-record.ts';
import { encodeMeta } from '../format/meta.ts';
import { type CheckpointRecord, lastUsedAt, randomId } from '../format/records.ts';
import { readNewest } from '../read-head.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';
import { runNotFound } from '../run-errors.ts';
import { writeEach } from '../write-each.ts';
import { fence } from './fence.ts';
import { payloadsInUse } from './payloads-in-use.ts';
import { type NameRecord, readWholeRun } from './whole-run.ts';

/** Which checkpoints a prune keeps. */
export interface PruneOptions {
  /** The number of newest checkpoints that stay loadable. */
  readonly keepLast: number;
  /** Whether named checkpoints stay loadable too. @default true */
  readonly keepNamed?: boolean;
}

/** The result of a prune. */
export interface PruneResult {
  /** The number of checkpoints that were emptied, and of those that can still be loaded. */
  readonly emptied: number;
  readonly kept: number;
  readonly payloadsRemoved: number;
  /** The newest version, which the next save follows. */
  readonly version: number;
}

/**
 * Empties all checkpoints except the kept ones and the chains that these need. The prune is first appended as a
 * checkpoint, which fences concurrent writers, so that no new checkpoint can refer to what is removed.
 */
export async function prune(at: RunContext, options: PruneOptions): Promise<PruneResult> {
  const { keepLast, keepNamed = true } = options ?? {};
  if (!Number.isSafeInteger(keepLast) || keepLast < 1) {
    throw invalidInput(
      '`keepLast`',
      'a whole number of at least 1, because the newest checkpoint is always kept',
      keepLast,
    );
  }
  return retryOnConflict(async () => {
    const run = await readNewest(at);
    if (!run) throw runNotFound(at);
    const { checkpoints, names } = await readWholeRun(at);
    const kept = keptVersions(checkpoints, keepLast, keepNamed ? names.map(({ meta }) => meta.version) : []);
    const isKept = ({ version }: CheckpointRecord) => kept.has(version);
    const toPrune = checkpoints.filter((record) => !isKept(record) && !record.meta.emptied);
    if (toPrune.length === 0) {
      // Frees names that a crashed prune left behind. Only those of emptied checkpoints, because a concurrent writer
      // may have added new names.
      const emptied = new Set(checkpoints.filter(({ meta }) => meta.emptied).map(({ version }) => version));
      await freeNames(at, names, (version) => emptied.has(version));
      return { emptied: 0, kept: kept.size, payloadsRemoved: 0, version: run.newest.version };
    }
    const emptiedRanges = toRanges(toPrune.map(({ version }) => version));
    const before = { head: run.head, record: run.newest };
    await fence(at, before, { kind: 'prune', emptiedRanges, usedAt: lastUsedAt(run.newest.meta) });

    await freeNames(at, names, (version) => !kept.has(version));
    const empty = (record: CheckpointRecord): Write => ({
      put: prunedRecord(record),
      when: { revision: record.stored.revision },
    });
    await writeEach(at, toPrune.map(empty));
    const inUse = payloadsInUse(checkpoints, isKept);
    const unused = [...payloadsInUse(checkpoints, ({ meta }) => !meta.emptied)].filter((id) => !inUse.has(id));
    await at.payloads.remove(at.partition, unused);
    const version = run.newest.version + 1;
    return { emptied: toPrune.length, kept: kept.size, payloadsRemoved: unused.length, version };
  });
}

/** Lets other checkpoints take the names. The names stay, so that loading by name says that it was pruned. */
async function freeNames(
  at: RunContext,
  names: readonly NameRecord[],
  isPruned: (version: number) => boolean,
): Promise<void> {
  const freed = names.filter(({ meta }) => !meta.pruned && isPruned(meta.version));
  await writeEach(
    at,
    freed.map(({ stored, meta }): Write => {
      const put = { ...stored, revision: randomId(), meta: encodeMeta({ ...meta, pruned: true }) };
      return { put, when: { revision: stored.revision } };
    }),
  );
}

function keptVersions(
  checkpoints: readonly CheckpointRecord[],
  keepLast: number,
  named: readonly number[],
): ReadonlySet<number> {
  const byVersion = new Map(checkpoints.map((record) => [record.version, record]));
  // A prune has no content, so repeated prunes must not push out real checkpoints.
  const withContent = checkpoints.filter(({ meta }) => meta.kind !== 'prune').slice(-keepLast);
  const newest = [...withContent, ...checkpoints.slice(-1)].map(({ version }) => version);
  const kept = new Set<number>();
  for (const version of [...newest, ...named]) {
    const meta = byVersion.get(version)?.meta;
    if (!meta || meta.emptied) continue;
    for (let chainVersion = meta.anchor ?? version; chainVersion <= version; chainVersion++) kept.add(chainVersion);
  }
  // A prune shows the checkpoint before it, and is kept or emptied with it.
  for (const { version, meta } of checkpoints) {
    if (meta.kind === 'prune' && !meta.emptied && kept.has(version - 1)) kept.add(version);
  }
  return kept;
}

/** 1, 2, 3, 7 → [1, 3], [7, 7] */
function toRanges(versions: readonly number[]): [number, number][] {
  const found: [number, number][] = [];
  for (const version of versions) {
    const last = found.at(-1);
    if (last && last[1] === version - 1) last[1] = version;
    else found.push([version, version]);
  }
  return found;
}
