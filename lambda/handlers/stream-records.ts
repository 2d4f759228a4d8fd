import { type HeadMeta, readHead } from '../checkpoints/engine.ts';
import { isWaitstateError } from '../core/errors.ts';
import { parsePartition } from '../core/ids.ts';
import { errorFields, type Telemetry } from '../runtime/telemetry.ts';
import { type Item, toListedRecord } from '../storage/dynamodb/items.ts';
import { HEAD_KEY } from '../storage/keys.ts';
import type { StoredRecord } from '../storage/ports.ts';

/** The event of a DynamoDB stream with new and old images. */
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

/** The records to deliver again. */
export interface BatchResponse {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/** A record after and before a write. */
export interface Change {
  readonly after: StoredRecord;
  readonly before: StoredRecord | undefined;
}

const CONCURRENCY = 10;

/**
 * Handles each change of a batch. A retryable failure is reported, so that the stream delivers this record and all
 * later ones again. Any other failure is counted and skipped, so that it does not block the records behind it.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
 */
export async function forEachChange(
  event: StreamEvent,
  { log, count }: Telemetry,
  handle: (change: Change) => Promise<void>,
): Promise<BatchResponse> {
  const records = [...((Object(event).Records ?? []) as Iterable<StreamRecord>)];
  const failed: string[] = [];
  const handleRecord = async (record: StreamRecord): Promise<void> => {
    // An empty sequence number makes Lambda deliver the whole batch again.
    const { SequenceNumber: number = '' } = Object(Object(record).dynamodb) as NonNullable<StreamRecord['dynamodb']>;
    try {
      const change = toChange(record);
      if (change) await handle(change);
    } catch (error) {
      if (isRetryable(error)) failed.push(number);
      else count('MalformedRecord');
      log('error', 'A stream record could not be processed.', { number, ...errorFields(error) });
    }
  };
  const queue = records.values();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const record of queue) await handleRecord(record);
    }),
  );
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
}

/** Whether a retry may succeed. Of Waitstate's own errors, only STORAGE_UNAVAILABLE is retryable. */
export const isRetryable = (error: unknown): boolean =>
  !isWaitstateError(error) || isWaitstateError(error, 'STORAGE_UNAVAILABLE');

/** The error codes of records that stay unreadable for this code. */
export const UNREADABLE_CODES = ['DAMAGED', 'FORMAT_TOO_NEW'] as const;

/** The change in a stream record; undefined for a deletion. */
function toChange(record: StreamRecord): Change | undefined {
  const { dynamodb } = Object(record) as StreamRecord;
  const { NewImage, OldImage } = dynamodb ?? {};
  if (!NewImage) return undefined;
  return { after: toListedRecord(NewImage as Item), before: OldImage && toListedRecord(OldImage as Item) };
}

/** The tenant and run of a record; undefined if it belongs to no run. */
export const runIdsOf = ({ partition }: StoredRecord): { readonly tenant: string; readonly run: string } | undefined =>
  partition.startsWith('@') || partition.includes('/@') ? undefined : parsePartition(partition);

/** The head of a run after and before a change; undefined for other records and for deleted runs. */
export function changedHeads({ after, before }: Change): { after: HeadMeta; before: HeadMeta | undefined } | undefined {
  if (after.key !== HEAD_KEY || !runIdsOf(after)) return undefined;
  const head = readHead(after).meta;
  return head.deletedUntil === undefined ? { after: head, before: before && readHead(before).meta } : undefined;
}
