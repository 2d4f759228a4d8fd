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
const PLACES = LISTS.flatMap((list) => [`${list}_group`, `${list}_order`]);
const CONTENT = ['revision', 'meta', ...PLACES, 'body'];
const WHOLE = ['partition', 'key', ...CONTENT].join(', ');
const SHORT = 'partition, key, revision, meta';

const READ = `SELECT ${WHOLE} FROM records WHERE partition = ? AND key IN`;
const INSERT = `INSERT INTO records (${CONTENT.join(', ')}, partition, key)
  VALUES (${CONTENT.map(() => '?').join(', ')}, ?, ?) ON CONFLICT (partition, key) DO NOTHING`;
const UPDATE = `UPDATE records SET ${CONTENT.map((column) => `${column} = ?`).join(', ')}
  WHERE partition = ? AND key = ? AND revision = ?`;
const DELETE = 'DELETE FROM records WHERE partition = ? AND key = ? AND revision = ?';

type Row = { readonly [column: string]: SQLOutputValue };

/**
 * The records of an open database, as its SQL sees them. Every method is one piece: nothing of this process runs
 * between.
 */
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

  function prepared(sql: string): StatementSync {
    const statement = statements.get(sql) ?? db.prepare(sql);
    statements.set(sql, statement);
    return statement;
  }

  function read(partition: string, keys: readonly string[]): StoredRecord[] {
    const sql = `${READ} (${keys.map(() => '?')})`;
    return prepared(sql)
      .all(partition, ...keys)
      .map(recordOf);
  }

  const find = ({ partition, key }: RecordKey): StoredRecord | undefined => read(partition, [key])[0];

  /** Makes one write if its condition holds, in one statement. */
  function apply(write: RecordWrite): boolean {
    const { partition, key } = writeKey(write);
    if (write.when === 'absent') {
      if ('remove' in write) return find(write.remove) === undefined;
      return changed(prepared(INSERT).run(...contentOf(write.put), partition, key));
    }
    const { revision } = write.when;
    if ('remove' in write) return changed(prepared(DELETE).run(partition, key, revision));
    return changed(prepared(UPDATE).run(...contentOf(write.put), partition, key, revision));
  }

  /** One statement, which commits by itself. */
  function commitOne(write: RecordWrite): void {
    while (!apply(write)) {
      const found = find(writeKey(write));
      // Another process may have changed the record since the statement; then the condition may hold by now.
      if (!conditionHolds(write, found)) throw new ConditionFailedError(new Map([[0, found]]));
    }
  }

  function commitAll(writes: readonly RecordWrite[]): void {
    const found = new Map<number, StoredRecord | undefined>();
    inTransaction(db, () => {
      for (const [i, write] of writes.entries()) if (!apply(write)) found.set(i, find(writeKey(write)));
      if (found.size > 0) throw new ConditionFailedError(found);
    });
  }

  function* select(columns: string, options: PageOptions, query: Query): Generator<PositionedRecord> {
    const { sql, values } = sqlOf(columns, options, query);
    for (const row of prepared(sql).iterate(...values)) {
      yield { record: recordOf(row), position: query.order.map((column) => text(row, column)) };
    }
  }

  return {
    read,
    range: (partition, options) => select(WHOLE, options, { where: 'partition', is: partition, order: ['key'] }),
    list(list, group, options) {
      const order = [`${list}_order`, 'partition', 'key'];
      return select(`${SHORT}, ${list}_order`, options, { where: `${list}_group`, is: group, order });
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

const changed = (result: { readonly changes: number | bigint }): boolean => Number(result.changes) === 1;

function contentOf({ revision, meta, lists: places = {}, body }: StoredRecord): SQLInputValue[] {
  const placed = LISTS.flatMap((list) => [places[list]?.group ?? null, places[list]?.order ?? null]);
  return [revision, meta, ...placed, body ?? null];
}

interface Query {
  readonly where: string;
  readonly is: string;
  /** The columns that order the records; the bounds are about the first. */
  readonly order: readonly string[];
}

function sqlOf(columns: string, options: PageOptions, query: Query): { sql: string; values: SQLInputValue[] } {
  const [bounded = 'key'] = query.order;
  const terms = [{ sql: `${query.where} = ?`, values: [query.is] }];
  if (options.from !== undefined) terms.push({ sql: `${bounded} >= ?`, values: [options.from] });
  if (options.to !== undefined) terms.push({ sql: `${bounded} <= ?`, values: [options.to] });
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

function recordOf(row: Row): StoredRecord {
  const places = placesOf(row);
  return {
    partition: text(row, 'partition'),
    key: text(row, 'key'),
    revision: text(row, 'revision'),
    meta: text(row, 'meta'),
    ...(row.body instanceof Uint8Array && { body: row.body }),
    ...(places && { lists: places }),
  };
}

function placesOf(row: Row): ListEntries | undefined {
  const placed = LISTS.filter((list) => typeof row[`${list}_group`] === 'string');
  if (placed.length === 0) return undefined;
  return Object.fromEntries(
    placed.map((list) => [list, { group: text(row, `${list}_group`), order: text(row, `${list}_order`) }]),
  );
}

function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === 'string') return value;
  throw new WaitstateError(
    'DAMAGED',
    `A record has no ${column}, where a text was expected; restore it from a backup.`,
  );
}
