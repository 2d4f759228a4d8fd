import {
  DeleteItemCommand,
  PutItemCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { WaitstateError } from '../../core/errors.ts';
import type { AwsCall } from '../aws/aws-calls.ts';
import { sdkAttempts } from '../aws/classify-aws-error.ts';
import { checkWrites } from '../check-writes.ts';
import type { Condition, RecordStore, Write } from '../ports.ts';
import type { DynamoClient } from './dynamo-client.ts';
import { type Item, itemBytes, primaryKey, toItem } from './items.ts';

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
        // Loaded only when a commit fails.
        const { throwUnlessApplied } = await import('./failed-commit.ts');
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
