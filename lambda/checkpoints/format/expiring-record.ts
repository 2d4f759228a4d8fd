import { dueGroup, timeOrder } from '../../storage/keys.ts';
import type { RecordStore, StoredRecord } from '../../storage/ports.ts';
import type { Context } from '../context.ts';

/** A record that goes by itself some time after a moment: the storage removes it or, where it does not, a sweep. */
export const withExpiry = ({ removesExpired }: RecordStore, record: StoredRecord, expiresAt: number): StoredRecord => ({
  ...record,
  ...(removesExpired
    ? { expiresAt }
    : { lists: { due: { group: dueGroup(record.partition), order: timeOrder(expiresAt) } } }),
});

/** Whether the moment of such a record has come; from then on it counts as gone, though it may still be there. */
export const hasExpired = ({ now }: Context, { expiresAt, lists }: StoredRecord): boolean =>
  now() >= (expiresAt ?? Number(lists?.due?.order ?? Infinity));
