import { Duration } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  type ITable,
  ProjectionType,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { STREAM, TABLE, TIME_TO_LIVE } from '../lambda/storage/dynamodb/table.ts';
import { acknowledge } from './acknowledge.ts';
import type { ResolvedProps } from './resolved-props.ts';

/** Creates the table of the runs, with the keys and indexes of `TABLE`. */
export function newTable(scope: Construct, props: ResolvedProps): ITable {
  const { encryptionKey, removalPolicy, deletionProtection } = props;
  const table = new Table(scope, 'Table', {
    ...toKeys(TABLE.KeySchema),
    billingMode: BillingMode.PAY_PER_REQUEST,
    stream: StreamViewType[STREAM.StreamViewType],
    timeToLiveAttribute: TIME_TO_LIVE.AttributeName,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    // Without a customer managed key, DynamoDB encrypts with a key that AWS owns.
    ...(encryptionKey && { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey }),
    removalPolicy,
    deletionProtection,
  });
  for (const { IndexName, KeySchema, Projection } of TABLE.GlobalSecondaryIndexes)
    table.addGlobalSecondaryIndex({
      indexName: IndexName,
      ...toKeys(KeySchema),
      projectionType: ProjectionType[Projection.ProjectionType],
      nonKeyAttributes: [...Projection.NonKeyAttributes],
    });
  return table as ITable;
}

/** The CDK keys of a table or an index; all of them are strings. */
function toKeys(schema: readonly { readonly AttributeName: string }[]) {
  const [hash, range] = schema;
  if (!hash || !range) throw new Error(`A key of the table must have two attributes; found ${schema.length}.`);
  const toAttribute = ({ AttributeName: name }: { readonly AttributeName: string }) => ({
    name,
    type: AttributeType.STRING,
  });
  return { partitionKey: toAttribute(hash), sortKey: toAttribute(range) };
}

/** Creates the bucket of the payloads. No payload expires by age, since a checkpoint may still refer to an old one. */
export function newBucket(scope: Construct, props: ResolvedProps): IBucket {
  const { encryptionKey, accessLogBucket, versioned, removalPolicy } = props;
  const bucket = new Bucket(scope, 'Bucket', {
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    enforceSSL: true,
    minimumTLSVersion: 1.2,
    encryption: encryptionKey ? BucketEncryption.KMS : BucketEncryption.S3_MANAGED,
    ...(encryptionKey && { encryptionKey, bucketKeyEnabled: true }),
    ...(accessLogBucket && { serverAccessLogsBucket: accessLogBucket, serverAccessLogsPrefix: 'waitstate/' }),
    versioned,
    lifecycleRules: [
      {
        id: 'unfinished-uploads-and-old-versions',
        abortIncompleteMultipartUploadAfter: Duration.days(7),
        ...(versioned && { noncurrentVersionExpiration: Duration.days(30), expiredObjectDeleteMarker: true }),
      },
    ],
    removalPolicy,
  });
  if (!accessLogBucket)
    acknowledge(bucket, {
      'AwsSolutions-S1':
        'Only the functions of this stack read and write payloads, under random names. CloudTrail data events can record access, and `accessLogBucket` turns on access logs.',
    });
  return bucket as IBucket;
}
