import { fork } from 'node:child_process';
import { once } from 'node:events';
import { CreateTableCommand, type CreateTableCommandInput, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { startDynamo, startS3 } from '../test/engines/engine-processes.ts';
import { type Counts, countsSince, NO_COUNTS } from './counts.ts';

/** The DynamoDB and S3 engines behind a proxy that counts requests. */
export interface Wire {
  readonly dynamoEndpoint: string;
  readonly s3Endpoint: string;
  readonly dynamo: DynamoDBClient;
  readonly s3: S3Client;
  /** The counts since the last `restart`. */
  counts(): Promise<Counts>;
  restart(): Promise<void>;
  freshTable(definition: Omit<CreateTableCommandInput, 'TableName'>): Promise<string>;
  freshBucket(): Promise<string>;
  stop(): Promise<void>;
}

const ACCOUNT = { region: 'us-east-1', credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' } };

/** Starts both engines and the counting proxy, each in its own process. */
export async function startWire(): Promise<Wire> {
  const [dynamoEngine, s3Engine] = await Promise.all([startDynamo(), startS3()]);
  const env = { ...process.env, BENCH_dynamodb: dynamoEngine.endpoint, BENCH_s3: s3Engine.endpoint };
  const counter = fork(new URL('./wire-process.ts', import.meta.url), { env, execArgv: [], stdio: 'inherit' });
  const [ports] = (await once(counter, 'message')) as [{ dynamodb: number; s3: number }];
  const dynamoEndpoint = `http://127.0.0.1:${ports.dynamodb}`;
  const s3Endpoint = `http://127.0.0.1:${ports.s3}`;
  const dynamo = new DynamoDBClient({ ...ACCOUNT, endpoint: dynamoEndpoint });
  const s3 = new S3Client({ ...ACCOUNT, endpoint: s3Endpoint, forcePathStyle: true });
  let start: Counts = NO_COUNTS;
  let created = 0;
  const readCounts = async (): Promise<Counts> => {
    const answer = once(counter, 'message');
    counter.send('counts');
    const [counts] = (await answer) as [Counts];
    return counts;
  };
  return {
    dynamoEndpoint,
    s3Endpoint,
    dynamo,
    s3,
    counts: async () => countsSince(start, await readCounts()),
    async restart() {
      start = await readCounts();
    },
    async freshTable(definition) {
      const TableName = `bench-${++created}`;
      await dynamo.send(new CreateTableCommand({ TableName, ...definition }));
      return TableName;
    },
    async freshBucket() {
      const Bucket = `bench-${++created}`;
      await s3.send(new CreateBucketCommand({ Bucket }));
      return Bucket;
    },
    async stop() {
      dynamo.destroy();
      s3.destroy();
      counter.kill();
      await Promise.all([dynamoEngine.stop(), s3Engine.stop()]);
    },
  };
}
