/** A service that answers requests. */
export type Service = 'dynamodb' | 's3' | 'lambda';

/** What a storage was asked for, by where it fell. */
export interface Ledger {
  /** Write units by partition of the table; those of a transaction count twice, as they are billed. */
  readonly tableUnits: ReadonlyMap<string, number>;
  /** Write units by group of an index: `status acme/READY`. */
  readonly groupUnits: ReadonlyMap<string, number>;
  /** Read units by partition of the table, or by group of an index. */
  readonly readUnits: ReadonlyMap<string, number>;
  readonly requests: ReadonlyMap<Service, number>;
  /** Objects that were put, by partition. */
  readonly objects: ReadonlyMap<string, number>;
}

/** A ledger that is being written. */
export type OpenLedger = { readonly [Column in keyof Ledger]: Map<Parameters<Ledger[Column]['get']>[0], number> };

export const newLedger = (): OpenLedger => ({
  tableUnits: new Map(),
  groupUnits: new Map(),
  readUnits: new Map(),
  requests: new Map(),
  objects: new Map(),
});

export function add<Key>(column: Map<Key, number>, key: Key, amount = 1): void {
  column.set(key, (column.get(key) ?? 0) + amount);
}

/** All of a column, or what of it is under keys that fit. */
export function sum<Key>(column: ReadonlyMap<Key, number>, fits: (key: Key) => boolean = () => true): number {
  let all = 0;
  for (const [key, amount] of column) if (fits(key)) all += amount;
  return all;
}

/** The key that has most of a column, among those that fit. */
export function most<Key>(
  column: ReadonlyMap<Key, number>,
  fits: (key: Key) => boolean = () => true,
): { readonly key: Key; readonly amount: number } {
  const [first] = [...column].filter(([key]) => fits(key)).toSorted(([, a], [, b]) => b - a);
  if (!first) throw new Error('Nothing in this column of the ledger fits; the simulation should have written there.');
  return { key: first[0], amount: first[1] };
}
