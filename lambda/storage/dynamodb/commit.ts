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

const ABSENT = 'attribute_not_exists(pk)';
const UNCHANGED = 'r = :r';

const ITEM_BYTES = 400 * 1024;
const TRANSACTION_BYTES = 4 * 1024 * 1024;

/**
 * The `commit` of a record store. A request whose answer is lost is sent again, and then meets what it wrote itself:
 *
 *   put r2 when r1 ──▶ applied ──✕ answer lost
 *   put r2 when r1 ──▶ condition failed, found r2: the revision that was being written, so the first try had been
 * applied
 *
 * This holds however late the second try is, which a ClientRequestToken (ten minutes) does not.
 */
export function createCommit(call: AwsCall<DynamoClient>, table: string, resource: string): RecordStore['commit'] {
  return async (writes) => {
    if (writes.length === 0) return;
    checkWrites(writes);
    const parts = writes.map((write) => toPart(table, write));
    refuseTooLarge(parts);
    const actions = [...new Set(parts.map(({ Delete }) => `dynamodb:${Delete ? 'Delete' : 'Put'}Item`))];

    await call({ resource, actions }, async (client, retried) => {
      const [{ Put, Delete } = {}] = parts;
      try {
        if (parts.length > 1) await client.send(new TransactWriteItemsCommand({ TransactItems: parts }));
        else if (Put) await client.send(new PutItemCommand(Put));
        else if (Delete) await client.send(new DeleteItemCommand(Delete));
      } catch (error) {
        settle(writes, error, retried || sdkAttempts(error) > 1);
      }
    });
  };
}

function toPart(TableName: string, write: Write): TransactWriteItem {
  if ('foreign' in write) return write.foreign;
  const guard = guardOf(write.when);
  return 'put' in write
    ? { Put: { TableName, Item: toItem(write.put), ...guard } }
    : { Delete: { TableName, Key: primaryKey(write.remove), ...guard } };
}

const guardOf = (when: Condition) => ({
  ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  ConditionExpression: when === 'absent' ? ABSENT : UNCHANGED,
  ...(when !== 'absent' && { ExpressionAttributeValues: { ':r': { S: when.revision } } }),
});

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html */
function refuseTooLarge(parts: readonly TransactWriteItem[]): void {
  const bytes = parts.map(({ Put, Delete }) => itemBytes((Put?.Item ?? Delete?.Key ?? {}) as Item));
  const total = bytes.reduce((sum, each) => sum + each, 0);
  for (const [what, found, most] of [
    ['record', Math.max(...bytes), ITEM_BYTES],
    ['commit', total, TRANSACTION_BYTES],
  ] as const)
    if (found > most) {
      const limit = `${most} bytes in a ${what}; found ${found}`;
      throw new WaitstateError('RECORD_TOO_LARGE', `DynamoDB takes at most ${limit}. Nothing was written.`);
    }
}

/** Returns when an earlier try of the commit turns out to have been applied, and throws otherwise. */
function settle(writes: readonly Write[], error: unknown, retried: boolean): void {
  const reasons = reasonsOf(error);
  if (!reasons) throw error;
  const found = new Map<number, StoredRecord | undefined>();
  const others: Error[] = [];
  for (const [at, { Code = 'None', Message, Item }] of reasons.entries()) {
    if (Code === 'ConditionalCheckFailed') found.set(at, Item?.pk && Item.m && toRecord(Item));
    else if (Code !== 'None') others.push(toAwsError(Code, Message, error));
  }
  if (retried && wasApplied(writes, found)) return;
  // On a first try a failed condition is the answer, whatever kept other items from being looked at: only those whose
  // reason says so are in `found`. On a later one, an item that was kept busy may be the one that shows the commit as
  // applied.
  const passing = others.find(isTransient);
  if (found.size > 0 && !(retried && passing)) throw new ConditionFailedError(found, error);
  throw (
    others.find((other) => !isTransient(other)) ??
    passing ??
    toAwsError('TransactionConflict', 'No reason given', error)
  );
}

function reasonsOf(error: unknown): CancellationReason[] | undefined {
  const { Item, CancellationReasons = [] } = Object(error) as Pick<CancellationReason, 'Item'> & {
    CancellationReasons?: CancellationReason[];
  };
  if (errorName(error) === 'ConditionalCheckFailedException') return [{ Code: 'ConditionalCheckFailed', Item }];
  return errorName(error) === 'TransactionCanceledException' ? CancellationReasons : undefined;
}

// All or nothing: one put of ours that is there stands for the whole commit. Without puts, all that it removes must be
// gone.
function wasApplied(writes: readonly Write[], found: ReadonlyMap<number, StoredRecord | undefined>): boolean {
  if (writes.some((write) => 'put' in write)) {
    return writes.some((write, at) => 'put' in write && found.get(at)?.revision === write.put.revision);
  }
  return writes.every(({ when }, at) => found.get(at) === undefined && found.has(at) === (when !== 'absent'));
}
