import { type DynamoDBClient, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import type { StreamRecord } from '../../lambda/handlers/stream-records.ts';
import { STREAM } from '../../lambda/storage/dynamodb/table.ts';

/** Enables the stream of a table and reads it. */
export async function streamOf(client: DynamoDBClient, table: string): Promise<() => Promise<StreamRecord[]>> {
  const { TableDescription } = await client.send(
    new UpdateTableCommand({ TableName: table, StreamSpecification: STREAM }),
  );
  return readStream(client, TableDescription?.LatestStreamArn);
}

/** Reads a stream; each call of the returned function gives the records since the last call, as Lambda receives them. */
export async function readStream(
  client: DynamoDBClient,
  StreamArn: string | undefined,
): Promise<() => Promise<StreamRecord[]>> {
  const { protocol, hostname, port } = (await client.config.endpoint?.()) ?? {};
  const call = async (operation: string, input: object) => {
    const headers = {
      'x-amz-target': `DynamoDBStreams_20120810.${operation}`,
      'content-type': 'application/x-amz-json-1.0',
      // Engines check only the format of this header.
      authorization:
        'AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
      'x-amz-date': '20260101T000000Z',
    };
    const response = await fetch(`${protocol}//${hostname}:${port}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(input),
    });
    if (!response.ok) throw new Error(`${operation}: ${await response.text()}`);
    return response.json() as Promise<Record<string, never>>;
  };
  let last: string | undefined;
  return async () => {
    const { StreamDescription } = await call('DescribeStream', { StreamArn });
    const [shard] = (StreamDescription as unknown as { Shards: { ShardId: string }[] }).Shards;
    if (!shard) return [];
    const from = last
      ? { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: last }
      : { ShardIteratorType: 'TRIM_HORIZON' };
    const iterator = await call('GetShardIterator', { StreamArn, ShardId: shard.ShardId, ...from });
    const { Records } = (await call('GetRecords', iterator)) as unknown as { Records: StreamRecord[] };
    last = Records.at(-1)?.dynamodb?.SequenceNumber ?? last;
    return Records;
  };
}
