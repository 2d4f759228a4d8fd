import { toPartition } from '../../lambda/core/ids.ts';
import { DUE_SHARD_COUNT, dueGroup } from '../../lambda/storage/keys.ts';
import { runId, TENANTS } from './mix.ts';

const RUNS = 100_000;

/** How evenly many runs of one tenant spread over the due shards: the busiest shard as a multiple of the mean. */
export function fullestShardFactor(): number {
  const runs = Array.from({ length: RUNS }, (_, n) => dueGroup(toPartition(TENANTS.large, runId(String(n)))));
  const groups = Map.groupBy(runs, (group) => group);
  return (Math.max(...[...groups.values()].map(({ length }) => length)) / RUNS) * DUE_SHARD_COUNT;
}
