// Starts the engines with a table and a bucket, and prints the environment variables for them. Stop it with Ctrl+C. With
// the argument `dynamodb-local`, DynamoDB is Amazon's DynamoDB Local, which needs Java and Maven.
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { startDynamoLocal } from './dynamodb-local/engine.ts';
import { startDynamo, startS3 } from './engine-processes.ts';
import { makeTable } from './make-table.ts';

const isLocal = process.argv.includes('dynamodb-local');
const [dynamodb, s3] = await Promise.all([isLocal ? startDynamoLocal() : startDynamo(), startS3()]);
const account = { region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };
await makeTable(new DynamoDBClient({ ...account, endpoint: dynamodb.endpoint }), 'waitstate');
await new S3Client({ ...account, endpoint: s3.endpoint, forcePathStyle: true }).send(
  new CreateBucketCommand({ Bucket: 'waitstate' }),
);
console.log(`Engines are running, in memory. In another terminal:

export WAITSTATE_TABLE=waitstate WAITSTATE_BUCKET=waitstate
export AWS_ENDPOINT_URL_DYNAMODB=${dynamodb.endpoint} AWS_ENDPOINT_URL_S3=${s3.endpoint}
export AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local
`);
