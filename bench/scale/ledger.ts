/** A service that receives requests. */
export type Service = 'dynamodb' | 's3' | 'lambda';

/** The requests to a storage, by partition and index group. */
export interface Ledger {
  /** Write units by partition of the table; transactions count twice, as billed. */
  readonly tableUnits: ReadonlyMap<string, number>;
  /** Write units by group of an index: `status acme/READY`. */
  readonly groupUnits: ReadonlyMap<string, number>;
  /** Read units by partition of the table, or by group of an index. */
  readonly readUnits: ReadonlyMap<string, number>;
  readonly requests: ReadonlyMap<Service, number>;
  /** `PUT` requests for objects, by partition. */
  readonly objects: ReadonlyMap<string, number>;
}

/** A mutable ledger. */
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

/** The sum of a column, optionally only of matching keys. */
export function sum<Key>(column: ReadonlyMap<Key, number>, fits: (key: Key) => boolean = () => true): number {
  let all = 0;
  for (const [key, amount] of column) if (fits(key)) all += amount;
  return all;
}

/** The matching key with the largest amount in a column. */
export function largest<Key>(
  column: ReadonlyMap<Key, number>,
  fits: (key: Key) => boolean = () => true,
): { readonly key: Key; readonly amount: number } {
  const [first] = [...column].filter(([key]) => fits(key)).toSorted(([, a], [, b]) => b - a);
  if (!first)
    throw new Error('Expected the simulation to write a matching key to this column of the ledger; found none.');
  return { key: first[0], amount: first[1] };
}
