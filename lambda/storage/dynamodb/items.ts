import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { WaitstateError } from '../../core/errors.ts';
import type { ListEntries, ListName, RecordKey, StoredRecord } from '../ports.ts';
import { LISTS } from './lists.ts';

export type Item = Record<string, AttributeValue>;

/** The primary key of a record. */
export const primaryKey = ({ partition, key }: RecordKey): Item => ({ pk: { S: partition }, sk: { S: key } });

/** The DynamoDB item of a record. */
export function toItem(record: StoredRecord): Item {
  const item: Item = { ...primaryKey(record), r: { S: record.revision }, m: { S: record.meta } };
  if (record.body) item.b = { B: record.body };
  // Rounded up: DynamoDB counts whole seconds, and no record may be deleted before it expires.
  if (record.expiresAt !== undefined) item.x = { N: String(Math.ceil(record.expiresAt / 1000)) };
  for (const list of LIST_NAMES) {
    const entry = record.lists?.[list];
    if (!entry) continue;
    item[LISTS[list].group] = { S: entry.group };
    item[LISTS[list].order] = { S: entry.order };
  }
  return item;
}

/** The part of an item that lists return. */
export const toListedRecord = (item: Item): StoredRecord => ({
  partition: textAttribute(item, 'pk'),
  key: textAttribute(item, 'sk'),
  revision: textAttribute(item, 'r'),
  meta: textAttribute(item, 'm'),
});

/** The listed record, or nothing for an invalid item, so that one bad item cannot break a list for everybody. */
export const toListedRecordIfValid = (item: Item): StoredRecord | [] =>
  item.r?.S && item.m?.S ? toListedRecord(item) : [];

/** The complete record of an item. */
export function toRecord(item: Item): StoredRecord {
  const lists: { -readonly [L in keyof ListEntries]: ListEntries[L] } = {};
  for (const list of LIST_NAMES) {
    const { group, order } = LISTS[list];
    if (item[group]) lists[list] = { group: textAttribute(item, group), order: textAttribute(item, order) };
  }
  return {
    ...toListedRecord(item),
    ...(item.b?.B && { body: item.b.B }),
    ...(Object.keys(lists).length > 0 && { lists }),
    ...(item.x?.N && { expiresAt: Number(item.x.N) * 1000 }),
  };
}

/**
 * The size of an item as DynamoDB counts it: names and values in UTF-8 or raw bytes, a number as one byte per two
 * digits plus one. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
export const itemBytes = (item: Item): number =>
  Object.entries(item).reduce(
    (sum, [name, { S = '', N, B }]) =>
      sum + name.length + Buffer.byteLength(S) + (B?.byteLength ?? 0) + (N ? Math.ceil(N.length / 2) + 1 : 0),
    0,
  );

/** A text attribute that every item of Waitstate has. */
export function textAttribute(item: Item, name: string): string {
  const value = item[name]?.S;
  if (value !== undefined) return value;
  const itemKey = JSON.stringify([item.pk?.S, item.sk?.S]);
  throw new WaitstateError(
    'DAMAGED',
    `Item ${itemKey} has no text attribute "${name}"; it was not written by Waitstate.`,
  );
}

const LIST_NAMES = Object.keys(LISTS) as ListName[];
