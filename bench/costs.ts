import { bytesRead, bytesWritten, type Counts, countsSince, dollars, dynamoRequests, formatKinds } from './counts.ts';
import { type Cell, formatBytes, formatTable, print } from './table.ts';
import type { Wire } from './wire.ts';

/** Counts by the name of what they were measured for. */
export type Costs = Readonly<Record<string, Counts>>;

const COST_COLUMNS = [
  'what',
  'requests',
  'write units',
  'read units',
  'written',
  'read',
  '$ per million',
  'DynamoDB by kind; S3 by kind',
  'write units by item',
];

const costCells = (counts: Counts): readonly Cell[] => [
  dynamoRequests(counts),
  counts.writeUnits,
  counts.readUnits,
  formatBytes(bytesWritten(counts)),
  formatBytes(bytesRead(counts)),
  dollars(counts) * 1e6,
  `${formatKinds(counts.requests)}; ${formatKinds(counts.s3)}`,
  formatKinds(counts.unitsByItem),
];

/** Counts what a piece of work sends over the wire. */
export async function measureCounts(wire: Wire, work: () => Promise<unknown>): Promise<Counts> {
  const before = await wire.counts();
  await work();
  return countsSince(before, await wire.counts());
}

/** Prints a table with one line for each cost. */
export const printCosts = (sentence: string, costs: Costs): void =>
  print(
    formatTable(
      sentence,
      COST_COLUMNS,
      Object.entries(costs).map(([what, counts]) => [what, ...costCells(counts)]),
    ),
  );
