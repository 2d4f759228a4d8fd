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

/** All stored records of a run. */
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

/** Error codes for a run that no longer exists or cannot be read. */
const GONE = ['RUN_NOT_FOUND', 'RUN_DELETED', 'RUN_EXPIRED', 'RUN_SHREDDED'];

/**
 * Expects what is true of a run at any time: its versions have no gaps, it verifies, and every version that is not pruned
 * loads with all its payloads. Returns the loaded content by version, or the error code if the run is gone.
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
    // A prune died halfway: the base of this checkpoint is already empty.
    if (!isWaitstateError(error, 'CHECKPOINT_PRUNED')) throw error;
  }
}

/** The stored payloads of a run are exactly those that its checkpoints need. */
export async function expectNoOrphans(storage: Storage, run: string): Promise<void> {
  const checkpoints = (await recordsOf(storage, run)).filter(({ key }) => parseVersion(key) > 0).map(readCheckpoint);
  const needed = payloadsInUse(checkpoints, ({ meta }) => !meta.emptied);
  expect(await payloadIdsOf(storage, run)).toEqual([...needed].sort());
}
