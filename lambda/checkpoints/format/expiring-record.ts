import { dueGroup, timeOrder } from '../../storage/keys.ts';
import type { RecordStore, StoredRecord } from '../../storage/ports.ts';
import type { Context } from '../context.ts';

/** A record that is deleted after it expires: by the storage or, if the storage does not do that, by a sweep. */
export const withExpiry = ({ removesExpired }: RecordStore, record: StoredRecord, expiresAt: number): StoredRecord => ({
  ...record,
  ...(removesExpired
    ? { expiresAt }
    : { lists: { ...record.lists, due: { group: dueGroup(record.partition), order: timeOrder(expiresAt) } } }),
});

/** Whether a record has expired. From then on it counts as deleted, even if it is still stored. */
export const hasExpired = ({ now }: Context, { expiresAt, lists }: StoredRecord): boolean =>
  now() >= (expiresAt ?? Number(lists?.due?.order ?? Infinity));
