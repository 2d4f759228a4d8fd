import { DescribeTableCommand, DescribeTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import { RemovalPolicy, type Stack } from 'aws-cdk-lib';
import { Key } from 'aws-cdk-lib/aws-kms';
import { describe, expect, it } from 'vitest';
import { Waitstate, type WaitstateProps } from '../../infra/index.ts';
import { STREAM, TABLE, TIME_TO_LIVE } from '../../lambda/storage/dynamodb/table.ts';
import { dynamoClient, freshTable } from '../engines/engines.ts';
import { stackOf } from './stacks.ts';
import { StackTemplate } from './template.ts';

function templateOf(props: (stack: Stack) => WaitstateProps = () => ({})): StackTemplate {
  const stack = stackOf();
  new Waitstate(stack, 'Waitstate', props(stack));
  return new StackTemplate(stack);
}

const DEFAULT = templateOf();
const UNDER_KEY = templateOf((stack) => ({ encryptionKey: new Key(stack, 'AtRest'), versioned: true }));
const DISPOSABLE = templateOf(() => ({ removalPolicy: RemovalPolicy.DESTROY }));

const tableOf = (template = DEFAULT) => template.one('AWS::DynamoDB::Table');
const bucketOf = (template = DEFAULT) => template.one('AWS::S3::Bucket');

describe('the table', () => {
  const byName = (attributes: unknown) =>
    (attributes as readonly { readonly AttributeName: string }[]).toSorted((a, b) =>
      a.AttributeName.localeCompare(b.AttributeName),
    );

  it('matches its definition, is on demand, and has point-in-time recovery and deletion protection', () => {
    const { KeySchema, AttributeDefinitions, GlobalSecondaryIndexes, ...rest } = tableOf().Properties;
    expect(KeySchema).toEqual(TABLE.KeySchema);
    expect(byName(AttributeDefinitions)).toEqual(byName(TABLE.AttributeDefinitions));
    expect(GlobalSecondaryIndexes).toEqual(TABLE.GlobalSecondaryIndexes);
    expect(rest).toEqual({
      BillingMode: 'PAY_PER_REQUEST',
      StreamSpecification: { StreamViewType: STREAM.StreamViewType },
      TimeToLiveSpecification: TIME_TO_LIVE,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      DeletionProtectionEnabled: true,
    });
  });

  it('matches the table that the tests use', async () => {
    const client = dynamoClient();
    const TableName = await freshTable(client);
    const { Table } = await client.send(new DescribeTableCommand({ TableName }));
    const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName }));
    const { KeySchema, AttributeDefinitions, GlobalSecondaryIndexes } = tableOf().Properties;
    expect(Table?.KeySchema).toEqual(KeySchema);
    expect(byName(Table?.AttributeDefinitions)).toEqual(byName(AttributeDefinitions));
    const indexes = (all: unknown) =>
      (all as readonly Record<string, unknown>[])
        .map(({ IndexName, KeySchema, Projection }) => ({ IndexName, KeySchema, Projection }))
        .toSorted((a, b) => String(a.IndexName).localeCompare(String(b.IndexName)));
    expect(indexes(Table?.GlobalSecondaryIndexes)).toEqual(indexes(GlobalSecondaryIndexes));
    expect(TimeToLiveDescription).toEqual({ AttributeName: 'x', TimeToLiveStatus: 'ENABLED' });
  });

  it('is encrypted with the given key', () => {
    expect(UNDER_KEY.plain(tableOf(UNDER_KEY).Properties.SSESpecification)).toEqual({
      SSEEnabled: true,
      SSEType: 'KMS',
      KMSMasterKeyId: '<AtRest.Arn>',
    });
  });

  it('has a deletion protection independent of the removal policy', () => {
    const both = templateOf(() => ({ removalPolicy: RemovalPolicy.DESTROY, deletionProtection: true }));
    expect(tableOf(both).Properties.DeletionProtectionEnabled).toBe(true);
    const neither = templateOf(() => ({ deletionProtection: false }));
    expect(tableOf(neither)).toMatchObject({
      DeletionPolicy: 'Retain',
      Properties: { DeletionProtectionEnabled: false },
    });
  });
});

describe('the bucket', () => {
  const UNFINISHED = {
    Id: 'unfinished-uploads-and-old-versions',
    Status: 'Enabled',
    AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 },
  };

  it('is private, encrypted and owner-enforced, and removes only unfinished uploads', () => {
    expect(bucketOf().Properties).toEqual({
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
      },
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      OwnershipControls: { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] },
      LifecycleConfiguration: { Rules: [UNFINISHED] },
    });
  });

  it('expires old versions, but no current object', () => {
    expect(bucketOf(UNDER_KEY).Properties).toMatchObject({
      VersioningConfiguration: { Status: 'Enabled' },
      LifecycleConfiguration: {
        Rules: [
          {
            ...UNFINISHED,
            NoncurrentVersionExpiration: { NoncurrentDays: 30 },
            ExpiredObjectDeleteMarker: true,
          },
        ],
      },
    });
    for (const template of [DEFAULT, UNDER_KEY, DISPOSABLE]) {
      const rules = JSON.stringify(bucketOf(template).Properties.LifecycleConfiguration);
      expect(rules).not.toMatch(
        /"(ExpirationInDays|ExpirationDate|Expiration|Transitions?|NoncurrentVersionTransitions?)"/,
      );
    }
  });

  it('is encrypted with the given key and a bucket key', () => {
    expect(UNDER_KEY.plain(bucketOf(UNDER_KEY).Properties.BucketEncryption)).toEqual({
      ServerSideEncryptionConfiguration: [
        {
          ServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: '<AtRest.Arn>' },
          BucketKeyEnabled: true,
        },
      ],
    });
  });
});

describe('topics and queues', () => {
  const encrypted = (template: StackTemplate, type: string) =>
    Object.fromEntries(
      template
        .all(type)
        .map(({ name, Properties }) => [
          name,
          template.text(Properties.KmsMasterKeyId ?? Properties.SqsManagedSseEnabled),
        ]),
    );

  it('are encrypted, except the alarm topic, for which CloudWatch cannot use the AWS managed key', () => {
    expect(encrypted(DEFAULT, 'AWS::SNS::Topic')).toEqual({ Topic: 'alias/aws/sns', AlarmTopic: 'undefined' });
    expect(encrypted(UNDER_KEY, 'AWS::SNS::Topic')).toEqual({ Topic: '<AtRest.Arn>', AlarmTopic: '<AtRest.Arn>' });
    expect(encrypted(DEFAULT, 'AWS::SQS::Queue')).toEqual({ DeadLetters: 'true' });
  });

  it('keep dead letters for two weeks', () => {
    expect(DEFAULT.one('AWS::SQS::Queue').Properties.MessageRetentionPeriod).toBe(14 * 24 * 60 * 60);
  });
});

describe('table, bucket and logs', () => {
  const STATEFUL_TYPES = ['AWS::DynamoDB::Table', 'AWS::S3::Bucket', 'AWS::Logs::LogGroup'];
  const policiesOf = (template: StackTemplate) =>
    STATEFUL_TYPES.flatMap((type) => template.all(type)).map(({ DeletionPolicy, UpdateReplacePolicy }) => [
      DeletionPolicy,
      UpdateReplacePolicy,
    ]);

  it('are retained when the stack is deleted or a resource is replaced', () => {
    const policies = policiesOf(DEFAULT);
    expect(policies.length).toBeGreaterThan(8);
    expect(policies.filter(([deleted, replaced]) => deleted !== 'Retain' || replaced !== 'Retain')).toEqual([]);
  });

  it('are deleted with the stack if the removal policy says so', () => {
    expect(
      policiesOf(DISPOSABLE).filter(([deleted, replaced]) => deleted !== 'Delete' || replaced !== 'Delete'),
    ).toEqual([]);
    expect(tableOf(DISPOSABLE).Properties.DeletionProtectionEnabled).toBe(false);
  });
});
