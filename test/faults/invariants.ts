import { expect } from 'vitest';
import type { Checkpoint } from '../../lambda/checkpoints/checkpoint.ts';
import type { CheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { readCheckpoint } from '../../lambda/checkpoints/format/records.ts';
import { payloadsInUse } from '../../lambda/checkpoints/operations/payloads-in-use.ts';
import { isWaitstateError } from '../../lambda/core/errors.ts';
import { toPartition } from '../../lambda/core/ids.ts';
import { parseVersion } from '../../lambda/storage/keys.ts';
import type { Storage, StoredRecord } from '../../lambda/storage/ports.ts';
import { plainOf } from './model/values.ts';

export const TENANT = 'default';

/** Everything that is stored of a run. */
export async function recordsOf(storage: Storage, run: string): Promise<readonly StoredRecord[]> {
  const records: StoredRecord[] = [];
  let after: string | undefined;
  do {
    const page = await storage.records.range(toPartition(TENANT, run), after === undefined ? {} : { after });
    records.push(...page.records);
    after = page.next;
  } while (after !== undefined);
  return records;
}

export async function payloadIdsOf(storage: Storage, run: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { id } of storage.payloads.list(toPartition(TENANT, run))) ids.push(id);
  return ids.sort();
}

/** A checkpoint as a caller can compare it: all its values, every payload read. */
export async function contentOf({ version, kind, status, step, state, toolResults }: Checkpoint): Promise<unknown> {
  return { version, kind, status, step, state: await plainOf(state), toolResults: await plainOf(toolResults) };
}

/** Codes for which a run, or a checkpoint of it, may rightly not be loaded. */
const GONE = ['RUN_NOT_FOUND', 'RUN_DELETED', 'RUN_EXPIRED', 'RUN_SHREDDED'];

/**
 * What is true of a run at any moment: its versions have no gaps, it verifies, and every version that is not pruned
 * loads with all its payloads. Gives what can be loaded by version, or the code for which nothing can.
 */
export async function expectSoundRun<S>(
  store: CheckpointStore<S>,
  run: string,
): Promise<ReadonlyMap<number, unknown> | string> {
  const loaded = new Map<number, unknown>();
  try {
    const { problems } = await store.verify(run);
    expect(problems).toEqual([]);
    const versions: number[] = [];
    for await (const { version, pruned } of store.history(run)) {
      versions.push(version);
      if (!pruned) await loadInto(loaded, store, run, version);
    }
    expect(versions).toEqual(versions.map((_, index) => index + 1));
    const newest = await store.load(run);
    expect(newest.version).toBe(versions.length);
    return loaded;
  } catch (error) {
    if (isWaitstateError(error) && GONE.includes(error.code)) return error.code;
    throw error;
  }
}

async function loadInto<S>(loaded: Map<number, unknown>, store: CheckpointStore<S>, run: string, version: number) {
  try {
    loaded.set(version, await contentOf(await store.load(run, version)));
  } catch (error) {
    // A prune that died halfway: what it stood on is already empty.
    if (!isWaitstateError(error, 'CHECKPOINT_PRUNED')) throw error;
  }
}

/** What is stored of the payloads of a run is what its checkpoints need. */
export async function expectNoOrphans(storage: Storage, run: string): Promise<void> {
  const checkpoints = (await recordsOf(storage, run)).filter(({ key }) => parseVersion(key) > 0).map(readCheckpoint);
  const needed = payloadsInUse(checkpoints, ({ meta }) => !meta.emptied);
  expect(await payloadIdsOf(storage, run)).toEqual([...needed].sort());
}
