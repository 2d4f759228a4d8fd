import { ConditionalCheckFailedException, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import type { Ledger, Line } from './ledger.ts';

const documents = DynamoDBDocumentClient.from(new DynamoDBClient());

/** The ledger of one service, as rows of a DynamoDB table with the keys `service` and `key`. */
export function tableLedger<L extends Line>(TableName: string, service: string): Ledger<L> {
  return {
    async record(line) {
      const Item = { ...line, service };
      const put = { TableName, Item, ConditionExpression: 'attribute_not_exists(service)' };
      try {
        await documents.send(new PutCommand(put));
        return line;
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
        const get = { TableName, Key: { service, key: line.key }, ConsistentRead: true };
        const { Item: recorded } = await documents.send(new GetCommand(get));
        return (recorded as L | undefined) ?? line;
      }
    },
    async entries() {
      const { Items = [] } = await documents.send(
        new QueryCommand({
          TableName,
          KeyConditionExpression: 'service = :service',
          ExpressionAttributeValues: { ':service': service },
          ConsistentRead: true,
        }),
      );
      return Items as unknown as readonly L[];
    },
  };
}
