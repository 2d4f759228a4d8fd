import { itemBytes, type WireItem } from './item-size.ts';

interface Index {
  readonly name: string;
  readonly keys: readonly string[];
  /** The projected attributes; all of them if undefined. */
  readonly projected: readonly string[] | undefined;
}

interface Table {
  readonly keys: readonly string[];
  readonly indexes: readonly Index[];
  readonly items: Map<string, Footprint>;
}

/** What the next write to an item needs to know about it to be priced. */
interface Footprint {
  readonly bytes: number;
  readonly inIndexes: ReadonlyMap<string, IndexEntry>;
}

/** The entry of an item in an index. */
interface IndexEntry {
  readonly group: string;
  readonly key: string;
  readonly content: string;
  readonly bytes: number;
}

interface KeySchema {
  readonly AttributeName: string;
}

export interface CreateTable {
  readonly TableName: string;
  readonly KeySchema: readonly KeySchema[];
  readonly GlobalSecondaryIndexes?: readonly {
    readonly IndexName: string;
    readonly KeySchema: readonly KeySchema[];
    readonly Projection: { readonly ProjectionType: string; readonly NonKeyAttributes?: readonly string[] };
  }[];
}

/** The write units of one write: for the item itself and for each index that contains it. */
export interface Units {
  readonly units: number;
  readonly inIndexes: ReadonlyMap<string, number>;
  /** The units of the indexes by group: `status acme/READY`. */
  readonly inGroups: ReadonlyMap<string, number>;
}

const NONE: ReadonlyMap<string, number> = new Map();

const writeUnits = (bytes: number): number => Math.max(1, Math.ceil(bytes / 1024));

/** Read units of a read: one per started 4 KB, half of it if the read is eventually consistent. */
export const readUnits = (bytes: number, consistent: boolean): number =>
  Math.max(1, Math.ceil(bytes / 4096)) * (consistent ? 1 : 0.5);

/**
 * Computes write units by the documented rules, independent of the engine: one per started KB of the larger of the old and
 * the new item; for an index, one per started KB of the entry, twice if its key changes, none if the entry does not change.
 */
export function capacityRules() {
  const tables = new Map<string, Table>();
  return {
    createTable(input: CreateTable): void {
      const keys = input.KeySchema.map(({ AttributeName }) => AttributeName);
      const indexes = (input.GlobalSecondaryIndexes ?? []).map(({ IndexName: name, KeySchema, Projection }): Index => {
        const own = KeySchema.map(({ AttributeName }) => AttributeName);
        const projected =
          Projection.ProjectionType === 'ALL' ? undefined : [...keys, ...own, ...(Projection.NonKeyAttributes ?? [])];
        return { name, keys: own, projected };
      });
      tables.set(input.TableName, { keys, indexes, items: new Map() });
    },
    /** Remembers the item and returns the units of the write, indexes included. */
    put(tableName: string, item: WireItem): Units {
      const table = tables.get(tableName);
      if (!table) return { units: writeUnits(itemBytes(item)), inIndexes: NONE, inGroups: NONE };
      const key = JSON.stringify(table.keys.map((name) => item[name]));
      const before = table.items.get(key);
      const after = footprint(table, item);
      table.items.set(key, after);
      return {
        units: writeUnits(Math.max(before?.bytes ?? 0, after.bytes)),
        ...indexUnits(table, before, after),
      };
    },
    remove(tableName: string, key: WireItem): Units {
      const table = tables.get(tableName);
      if (!table) return { units: 1, inIndexes: NONE, inGroups: NONE };
      const name = JSON.stringify(table.keys.map((each) => key[each]));
      const before = table.items.get(name);
      table.items.delete(name);
      return { units: writeUnits(before?.bytes ?? 0), ...indexUnits(table, before, undefined) };
    },
  };
}

function footprint(table: Table, item: WireItem): Footprint {
  const inIndexes = new Map<string, IndexEntry>();
  for (const { name, keys, projected } of table.indexes) {
    if (!keys.every((key) => key in item)) continue;
    const entry = Object.fromEntries(Object.entries(item).filter(([each]) => !projected || projected.includes(each)));
    const key = JSON.stringify(keys.map((each) => item[each]));
    const group = `${name} ${Object.values(item[keys[0] ?? ''] ?? {})[0]}`;
    inIndexes.set(name, { group, key, content: JSON.stringify(entry), bytes: itemBytes(entry) });
  }
  return { bytes: itemBytes(item), inIndexes };
}

function indexUnits(
  table: Table,
  before: Footprint | undefined,
  after: Footprint | undefined,
): Pick<Units, 'inIndexes' | 'inGroups'> {
  const inIndexes = new Map<string, number>();
  const inGroups = new Map<string, number>();
  const spend = (index: string, { group }: IndexEntry, bytes: number): void => {
    inIndexes.set(index, (inIndexes.get(index) ?? 0) + writeUnits(bytes));
    inGroups.set(group, (inGroups.get(group) ?? 0) + writeUnits(bytes));
  };
  for (const { name } of table.indexes) {
    const old = before?.inIndexes.get(name);
    const now = after?.inIndexes.get(name);
    if (old && now && old.key === now.key) {
      if (old.content !== now.content) spend(name, now, Math.max(old.bytes, now.bytes));
      continue;
    }
    if (old) spend(name, old, old.bytes);
    if (now) spend(name, now, now.bytes);
  }
  return { inIndexes, inGroups };
}
