import { DUE_SHARDS, dueGroup } from '../../lambda/checkpoints/format/records.ts';
import { partitionOf } from '../../lambda/core/ids.ts';
import { runId, TENANTS } from './mix.ts';

const RUNS = 100_000;

/** How even many runs of one tenant are over the groups of the due list: how much more than its share the fullest has. */
export function fullestDueGroup(): number {
  const runs = Array.from({ length: RUNS }, (_, n) => dueGroup(partitionOf(TENANTS.large, runId(String(n)))));
  const groups = Map.groupBy(runs, (group) => group);
  return (Math.max(...[...groups.values()].map(({ length }) => length)) / RUNS) * DUE_SHARDS;
}
