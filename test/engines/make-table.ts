import {
  CreateTableCommand,
  type DynamoDBClient,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { TABLE, TIME_TO_LIVE } from '../../lambda/storage/dynamodb/table.ts';

/** Creates the table of a record store with its TTL; resolves when the table is active. */
export async function makeTable(client: DynamoDBClient, TableName: string): Promise<void> {
  await client.send(new CreateTableCommand({ TableName, ...TABLE }));
  await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 1 }, { TableName });
  await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: TIME_TO_LIVE }));
}
