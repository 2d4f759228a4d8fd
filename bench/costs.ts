import { byKind, bytesRead, bytesWritten, type Counts, dollars, dynamoRequests, since } from './counts.ts';
import { bytes, type Cell, print, table } from './table.ts';
import type { Wire } from './wire.ts';

/** What was counted, by what it was for. */
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
  bytes(bytesWritten(counts)),
  bytes(bytesRead(counts)),
  dollars(counts) * 1e6,
  `${byKind(counts.requests)}; ${byKind(counts.s3)}`,
  byKind(counts.unitsOf),
];

/** What a piece of work cost on the wire. */
export async function counted(wire: Wire, work: () => Promise<unknown>): Promise<Counts> {
  const before = await wire.counts();
  await work();
  return since(before, await wire.counts());
}

/** Prints what things cost, one line each. */
export const printCosts = (sentence: string, costs: Costs): void =>
  print(
    table(
      sentence,
      COST_COLUMNS,
      Object.entries(costs).map(([what, counts]) => [what, ...costCells(counts)]),
    ),
  );
