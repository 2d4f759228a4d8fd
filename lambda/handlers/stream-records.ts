import type { HeadMeta } from '../checkpoints/engine.ts';
import { readHead } from '../checkpoints/engine.ts';
import { isWaitstateError } from '../core/errors.ts';
import { parsePartition } from '../core/ids.ts';
import { errorFields, type Telemetry } from '../runtime/telemetry.ts';
import { type Item, toListedRecord } from '../storage/dynamodb/items.ts';
import { HEAD_KEY } from '../storage/keys.ts';
import type { StoredRecord } from '../storage/ports.ts';

/** The event of a table's stream, with new and old images. */
export interface StreamEvent {
  readonly Records: readonly StreamRecord[];
}

export interface StreamRecord {
  readonly dynamodb?: {
    readonly NewImage?: object;
    readonly OldImage?: object;
    readonly SequenceNumber?: string;
  };
}

/** Which records are to be delivered again. */
export interface BatchResponse {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/** A record of ours as it is now, and as it was. */
export interface Change {
  readonly after: StoredRecord;
  readonly before: StoredRecord | undefined;
}

const AT_ONCE = 10;

/**
 * Handles each change of a batch. One that fails is reported when another try may do better: the stream then delivers it
 * again, and with it all that came after it. Any other is counted and left, so that nobody waits for it.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
 */
export async function forEachChange(
  event: StreamEvent,
  { log, count }: Telemetry,
  handle: (change: Change) => Promise<void>,
): Promise<BatchResponse> {
  const records = [...((Object(event).Records ?? []) as Iterable<StreamRecord>)];
  const failed: string[] = [];
  const one = async (record: StreamRecord): Promise<void> => {
    // Without a number the whole batch is delivered again.
    const { SequenceNumber: number = '' } = Object(Object(record).dynamodb) as NonNullable<StreamRecord['dynamodb']>;
    try {
      const change = changeOf(record);
      if (change) await handle(change);
    } catch (error) {
      if (isRetryable(error)) failed.push(number);
      else count('MalformedRecord');
      log('error', 'A record of the stream could not be handled.', { number, ...errorFields(error) });
    }
  };
  const rest = records.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const record of rest) await one(record);
    }),
  );
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
}

/** Whether another try may do better: of what we say ourselves, only where the storage did not answer. */
export const isRetryable = (error: unknown): boolean =>
  !isWaitstateError(error) || isWaitstateError(error, 'STORAGE_UNAVAILABLE');

/** The errors of a record that nobody can read, now or later. */
export const UNREADABLE_CODES = ['DAMAGED', 'FORMAT_TOO_NEW'] as const;

/** The change that a record is of; undefined for a removal. */
function changeOf(record: StreamRecord): Change | undefined {
  const { dynamodb } = Object(record) as StreamRecord;
  const { NewImage, OldImage } = dynamodb ?? {};
  if (!NewImage) return undefined;
  return { after: toListedRecord(NewImage as Item), before: OldImage && toListedRecord(OldImage as Item) };
}

/** Whose run a record is of; undefined for what belongs to no run. */
export const runIdsOf = ({ partition }: StoredRecord): { readonly tenant: string; readonly run: string } | undefined =>
  partition.startsWith('@') || partition.includes('/@') ? undefined : parsePartition(partition);

/** The head of a run that lives, as it is now and as it was; undefined when the change is not of one. */
export function changedHeads({
  after: now,
  before,
}: Change): { now: HeadMeta; before: HeadMeta | undefined } | undefined {
  if (now.key !== HEAD_KEY || !runIdsOf(now)) return undefined;
  const head = readHead(now).meta;
  return head.deletedUntil === undefined ? { now: head, before: before && readHead(before).meta } : undefined;
}
