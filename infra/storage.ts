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

/** A table of runs, as `TABLE` defines it. */
export function newTable(scope: Construct, props: ResolvedProps): ITable {
  const { encryptionKey, removalPolicy, deletionProtection } = props;
  const table = new Table(scope, 'Table', {
    ...keyOf(TABLE.KeySchema),
    billingMode: BillingMode.PAY_PER_REQUEST,
    stream: StreamViewType[STREAM.StreamViewType],
    timeToLiveAttribute: TIME_TO_LIVE.AttributeName,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    // Without a key of yours, DynamoDB encrypts under one of its own.
    ...(encryptionKey && { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey }),
    ...{ removalPolicy, deletionProtection },
  });
  for (const { IndexName, KeySchema, Projection } of TABLE.GlobalSecondaryIndexes)
    table.addGlobalSecondaryIndex({
      indexName: IndexName,
      ...keyOf(KeySchema),
      projectionType: ProjectionType[Projection.ProjectionType],
      nonKeyAttributes: [...Projection.NonKeyAttributes],
    });
  return table as ITable;
}

/** The keys of a table or an index; all are texts. */
function keyOf(schema: readonly { readonly AttributeName: string }[]) {
  const [hash, range] = schema;
  if (!hash || !range) throw new Error('A key of the table has two parts; the definition of the table has fewer.');
  const text = ({ AttributeName: name }: { readonly AttributeName: string }) => ({ name, type: AttributeType.STRING });
  return { partitionKey: text(hash), sortKey: text(range) };
}

/** A bucket of payloads. Nothing goes by its age: that says nothing about whether a checkpoint still needs it. */
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
        'Only the functions of this stack read and write payloads, under random names; data events of CloudTrail can tell who did, and `accessLogBucket` turns access logs on.',
    });
  return bucket as IBucket;
}
