import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { WaitstateError } from '../../core/errors.ts';
import { checkRecordWrites, conditionHolds, type RecordWrite, writeKey } from '../check-writes.ts';
import { decodeCursor, type PositionedRecord } from '../paging.ts';
import {
  ConditionFailedError,
  type ListEntries,
  type ListName,
  type PageOptions,
  type RecordKey,
  type StoredRecord,
  type Write,
} from '../ports.ts';
import { inTransaction } from './database.ts';

const LISTS: readonly ListName[] = ['status', 'owner', 'due'];
const LIST_COLUMNS = LISTS.flatMap((list) => [`${list}_group`, `${list}_order`]);
const CONTENT_COLUMNS = ['revision', 'meta', ...LIST_COLUMNS, 'body'];
const ALL_COLUMNS = ['partition', 'key', ...CONTENT_COLUMNS].join(', ');
const LISTED_COLUMNS = 'partition, key, revision, meta';

const READ = `SELECT ${ALL_COLUMNS} FROM records WHERE partition = ? AND key IN`;
const INSERT = `INSERT INTO records (${CONTENT_COLUMNS.join(', ')}, partition, key)
  VALUES (${CONTENT_COLUMNS.map(() => '?').join(', ')}, ?, ?) ON CONFLICT (partition, key) DO NOTHING`;
const UPDATE = `UPDATE records SET ${CONTENT_COLUMNS.map((column) => `${column} = ?`).join(', ')}
  WHERE partition = ? AND key = ? AND revision = ?`;
const DELETE = 'DELETE FROM records WHERE partition = ? AND key = ? AND revision = ?';

type Row = { readonly [column: string]: SQLOutputValue };

/** The records of an open database. Every method is synchronous, so no other code of this process runs in between. */
export interface RecordTable {
  read(partition: string, keys: readonly string[]): StoredRecord[];
  range(partition: string, options: PageOptions): Iterable<PositionedRecord>;
  list(list: ListName, group: string, options: PageOptions): Iterable<PositionedRecord>;
  commit(writes: readonly Write[]): void;
  close(): void;
}

/** The table of a database that `openDatabase` opened. */
export function recordTable(db: DatabaseSync): RecordTable {
  const statements = new Map<string, StatementSync>();

  function prepare(sql: string): StatementSync {
    const statement = statements.get(sql) ?? db.prepare(sql);
    statements.set(sql, statement);
    return statement;
  }

  function read(partition: string, keys: readonly string[]): StoredRecord[] {
    const sql = `${READ} (${keys.map(() => '?')})`;
    return prepare(sql)
      .all(partition, ...keys)
      .map(toRecord);
  }

  const find = ({ partition, key }: RecordKey): StoredRecord | undefined => read(partition, [key])[0];

  /** Applies one write if its condition holds, in one statement. */
  function applyWrite(write: RecordWrite): boolean {
    const { partition, key } = writeKey(write);
    if (write.when === 'absent') {
      if ('remove' in write) return find(write.remove) === undefined;
      return hasChangedOne(prepare(INSERT).run(...toColumnValues(write.put), partition, key));
    }
    const { revision } = write.when;
    if ('remove' in write) return hasChangedOne(prepare(DELETE).run(partition, key, revision));
    return hasChangedOne(prepare(UPDATE).run(...toColumnValues(write.put), partition, key, revision));
  }

  /** A single statement needs no transaction. */
  function commitOne(write: RecordWrite): void {
    while (!applyWrite(write)) {
      const found = find(writeKey(write));
      // Another process may have changed the record since the statement, so that the condition holds now.
      if (!conditionHolds(write, found)) throw new ConditionFailedError(new Map([[0, found]]));
    }
  }

  function commitAll(writes: readonly RecordWrite[]): void {
    const found = new Map<number, StoredRecord | undefined>();
    inTransaction(db, () => {
      for (const [i, write] of writes.entries()) if (!applyWrite(write)) found.set(i, find(writeKey(write)));
      if (found.size > 0) throw new ConditionFailedError(found);
    });
  }

  function* select(columns: string, options: PageOptions, query: Query): Generator<PositionedRecord> {
    const { sql, values } = buildSelect(columns, options, query);
    for (const row of prepare(sql).iterate(...values)) {
      yield { record: toRecord(row), position: query.order.map((column) => textColumn(row, column)) };
    }
  }

  return {
    read,
    range: (partition, options) =>
      select(ALL_COLUMNS, options, { where: 'partition', value: partition, order: ['key'] }),
    list(list, group, options) {
      const order = [`${list}_order`, 'partition', 'key'];
      return select(`${LISTED_COLUMNS}, ${list}_order`, options, { where: `${list}_group`, value: group, order });
    },
    commit(given) {
      const writes = checkRecordWrites(given);
      const [first] = writes;
      if (first && writes.length === 1) commitOne(first);
      else if (first) commitAll(writes);
    },
    close: () => db.close(),
  };
}

const hasChangedOne = (result: { readonly changes: number | bigint }): boolean => Number(result.changes) === 1;

function toColumnValues({ revision, meta, lists = {}, body }: StoredRecord): SQLInputValue[] {
  const listValues = LISTS.flatMap((list) => [lists[list]?.group ?? null, lists[list]?.order ?? null]);
  return [revision, meta, ...listValues, body ?? null];
}

interface Query {
  readonly where: string;
  readonly value: string;
  /** The columns that order the records; bounds apply to the first. */
  readonly order: readonly string[];
}

function buildSelect(columns: string, options: PageOptions, query: Query): { sql: string; values: SQLInputValue[] } {
  const [boundColumn = 'key'] = query.order;
  const terms = [{ sql: `${query.where} = ?`, values: [query.value] }];
  if (options.from !== undefined) terms.push({ sql: `${boundColumn} >= ?`, values: [options.from] });
  if (options.to !== undefined) terms.push({ sql: `${boundColumn} <= ?`, values: [options.to] });
  if (options.after !== undefined) {
    const sql = `(${query.order}) ${options.newestFirst ? '<' : '>'} (${query.order.map(() => '?')})`;
    terms.push({ sql, values: decodeCursor(options.after, query.order.length) });
  }
  const order = query.order.map((column) => `${column} ${options.newestFirst ? 'DESC' : 'ASC'}`);
  const where = terms.map((term) => term.sql).join(' AND ');
  return {
    sql: `SELECT ${columns} FROM records WHERE ${where} ORDER BY ${order}`,
    values: terms.flatMap((term) => term.values),
  };
}

function toRecord(row: Row): StoredRecord {
  const lists = toListEntries(row);
  return {
    partition: textColumn(row, 'partition'),
    key: textColumn(row, 'key'),
    revision: textColumn(row, 'revision'),
    meta: textColumn(row, 'meta'),
    ...(row.body instanceof Uint8Array && { body: row.body }),
    ...(lists && { lists }),
  };
}

function toListEntries(row: Row): ListEntries | undefined {
  const listNames = LISTS.filter((list) => typeof row[`${list}_group`] === 'string');
  if (listNames.length === 0) return undefined;
  return Object.fromEntries(
    listNames.map((list) => [
      list,
      { group: textColumn(row, `${list}_group`), order: textColumn(row, `${list}_order`) },
    ]),
  );
}

function textColumn(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === 'string') return value;
  throw new WaitstateError(
    'DAMAGED',
    `A record has no text in column "${column}". Restore the database from a backup.`,
  );
}
