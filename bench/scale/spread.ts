import { createHash } from 'node:crypto';
import { DUE_SHARDS, dueGroup } from '../../lambda/checkpoints/records.ts';
import { partitionOf } from '../../lambda/core/ids.ts';
import { runId, TENANTS } from './mix.ts';

const KEYS = 100_000;

/** How even keys of runs are spread: how much more than its share the fullest has. */
export interface Evenness {
  readonly keys: number;
  readonly due: number;
  /** Over 16 partitions of the table by a hash of the key; that of DynamoDB is another, and not known. */
  readonly table: number;
  /** By the first letter of the run in the names of objects, which S3 may split by. */
  readonly objects: number;
}

const PARTITIONS = 16;
let known: Evenness | undefined;

/** The spread of the keys of many runs of one tenant. */
export function evenness(): Evenness {
  known ??= measured();
  return known;
}

function measured(): Evenness {
  const [due, table, objects] = [new Map<string, number>(), new Map<string, number>(), new Map<string, number>()];
  for (let n = 0; n < KEYS; n++) {
    const partition = partitionOf(TENANTS.large, runId(String(n)));
    count(due, dueGroup(partition));
    count(table, String((createHash('md5').update(partition).digest()[0] ?? 0) % PARTITIONS));
    count(objects, partition.slice(0, TENANTS.large.length + 2));
  }
  const fullest = (of: ReadonlyMap<string, number>, places: number) => (Math.max(...of.values()) / KEYS) * places;
  return {
    keys: KEYS,
    due: fullest(due, DUE_SHARDS),
    table: fullest(table, PARTITIONS),
    objects: fullest(objects, 16),
  };
}

const count = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
