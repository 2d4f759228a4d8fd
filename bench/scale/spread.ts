import { DUE_SHARDS, dueGroup } from '../../lambda/checkpoints/format/records.ts';
import { partitionOf } from '../../lambda/core/ids.ts';
import { runId, TENANTS } from './mix.ts';

const RUNS = 100_000;

/** How evenly many runs of one tenant spread over the due shards: the busiest shard as a multiple of the mean. */
export function fullestDueGroup(): number {
  const runs = Array.from({ length: RUNS }, (_, n) => dueGroup(partitionOf(TENANTS.large, runId(String(n)))));
  const groups = Map.groupBy(runs, (group) => group);
  return (Math.max(...[...groups.values()].map(({ length }) => length)) / RUNS) * DUE_SHARDS;
}
