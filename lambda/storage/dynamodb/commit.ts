import {
  type CancellationReason,
  DeleteItemCommand,
  PutItemCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { WaitstateError } from '../../core/errors.ts';
import type { AwsCall } from '../aws/aws-calls.ts';
import { errorName, isTransient, sdkAttempts, toAwsError } from '../aws/classify-aws-error.ts';
import { checkWrites } from '../check-writes.ts';
import { type Condition, ConditionFailedError, type RecordStore, type StoredRecord, type Write } from '../ports.ts';
import type { DynamoClient } from './dynamo-client.ts';
import { type Item, itemBytes, primaryKey, toItem, toRecord } from './items.ts';

const IF_ABSENT = 'attribute_not_exists(pk)';
const IF_UNCHANGED = 'r = :r';

const MAX_ITEM_BYTES = 400 * 1024;
const MAX_TRANSACTION_BYTES = 4 * 1024 * 1024;

/**
 * The `commit` of a record store. When a response is lost, the request is retried and meets its own write:
 *
 *   put r2 when r1 ──▶ applied ──✕ response lost
 *   put r2 when r1 ──▶ condition failed, found r2: the revision being written, so the first attempt was applied
 *
 * This works no matter how late the retry is, unlike a ClientRequestToken, which is valid for ten minutes.
 */
export function createCommit(call: AwsCall<DynamoClient>, table: string, resource: string): RecordStore['commit'] {
  return async (writes) => {
    if (writes.length === 0) return;
    checkWrites(writes);
    const items = writes.map((write) => toTransactItem(table, write));
    checkSizes(items);
    const actions = [...new Set(items.map(({ Delete }) => `dynamodb:${Delete ? 'Delete' : 'Put'}Item`))];

    await call({ resource, actions }, async (client, isRetry) => {
      const [{ Put, Delete } = {}] = items;
      try {
        if (items.length > 1) await client.send(new TransactWriteItemsCommand({ TransactItems: items }));
        else if (Put) await client.send(new PutItemCommand(Put));
        else if (Delete) await client.send(new DeleteItemCommand(Delete));
      } catch (error) {
        throwUnlessApplied(writes, error, isRetry || sdkAttempts(error) > 1);
      }
    });
  };
}

function toTransactItem(TableName: string, write: Write): TransactWriteItem {
  if ('foreign' in write) return write.foreign;
  const condition = toConditionParams(write.when);
  return 'put' in write
    ? { Put: { TableName, Item: toItem(write.put), ...condition } }
    : { Delete: { TableName, Key: primaryKey(write.remove), ...condition } };
}

const toConditionParams = (when: Condition) => ({
  ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  ConditionExpression: when === 'absent' ? IF_ABSENT : IF_UNCHANGED,
  ...(when !== 'absent' && { ExpressionAttributeValues: { ':r': { S: when.revision } } }),
});

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html */
function checkSizes(items: readonly TransactWriteItem[]): void {
  const bytes = items.map(({ Put, Delete }) => itemBytes((Put?.Item ?? Delete?.Key ?? {}) as Item));
  const total = bytes.reduce((sum, each) => sum + each, 0);
  for (const [what, found, max] of [
    ['record', Math.max(...bytes), MAX_ITEM_BYTES],
    ['commit', total, MAX_TRANSACTION_BYTES],
  ] as const)
    if (found > max) {
      const limit = `${max} bytes in a ${what}; found ${found} bytes`;
      throw new WaitstateError('RECORD_TOO_LARGE', `DynamoDB takes at most ${limit}. Nothing was written.`);
    }
}

/** Returns when an earlier attempt of the commit was applied, and throws otherwise. */
function throwUnlessApplied(writes: readonly Write[], error: unknown, isRetry: boolean): void {
  const reasons = cancellationReasons(error);
  if (!reasons) throw error;
  const found = new Map<number, StoredRecord | undefined>();
  const otherErrors: Error[] = [];
  for (const [index, { Code = 'None', Message, Item }] of reasons.entries()) {
    if (Code === 'ConditionalCheckFailed') found.set(index, Item?.pk && Item.m && toRecord(Item));
    else if (Code !== 'None') otherErrors.push(toAwsError(Code, Message, error));
  }
  if (isRetry && wasApplied(writes, found)) return;
  // On the first attempt a failed condition is final, even when other items met a transient error: `found` has only
  // failed conditions. On a retry, the item with the transient error may be the one that proves the commit applied.
  const transientError = otherErrors.find(isTransient);
  if (found.size > 0 && !(isRetry && transientError)) throw new ConditionFailedError(found, error);
  throw (
    otherErrors.find((other) => !isTransient(other)) ??
    transientError ??
    toAwsError('TransactionConflict', 'No reason given', error)
  );
}

function cancellationReasons(error: unknown): CancellationReason[] | undefined {
  const { Item, CancellationReasons = [] } = Object(error) as Pick<CancellationReason, 'Item'> & {
    CancellationReasons?: CancellationReason[];
  };
  if (errorName(error) === 'ConditionalCheckFailedException') return [{ Code: 'ConditionalCheckFailed', Item }];
  return errorName(error) === 'TransactionCanceledException' ? CancellationReasons : undefined;
}

// A transaction is all or nothing, so one stored put proves the whole commit. Without puts, every removed record must
// be gone.
function wasApplied(writes: readonly Write[], found: ReadonlyMap<number, StoredRecord | undefined>): boolean {
  if (writes.some((write) => 'put' in write)) {
    return writes.some((write, index) => 'put' in write && found.get(index)?.revision === write.put.revision);
  }
  return writes.every(({ when }, index) => found.get(index) === undefined && found.has(index) === (when !== 'absent'));
}
