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

  it('is that of the definition, on demand, with recovery to any moment, and refuses to be deleted', () => {
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

  it('is that which tests run on', async () => {
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

  it('is encrypted under a key that is given', () => {
    expect(UNDER_KEY.plain(tableOf(UNDER_KEY).Properties.SSESpecification)).toEqual({
      SSEEnabled: true,
      SSEType: 'KMS',
      KMSMasterKeyId: '<AtRest.Arn>',
    });
  });

  it('may be protected whatever becomes of the stack, or not protected although it stays', () => {
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

  it('is private and encrypted, belongs to its owner, and gives up only unfinished uploads', () => {
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

  it('gives up old versions, but no current object by its age', () => {
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

  it('is encrypted under a key that is given, with a bucket key', () => {
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

describe('the messages', () => {
  const encrypted = (template: StackTemplate, type: string) =>
    Object.fromEntries(
      template
        .all(type)
        .map(({ name, Properties }) => [
          name,
          template.text(Properties.KmsMasterKeyId ?? Properties.SqsManagedSseEnabled),
        ]),
    );

  it('are encrypted, but for alarms, which CloudWatch cannot write under a key of AWS', () => {
    expect(encrypted(DEFAULT, 'AWS::SNS::Topic')).toEqual({ Topic: 'alias/aws/sns', AlarmTopic: 'undefined' });
    expect(encrypted(UNDER_KEY, 'AWS::SNS::Topic')).toEqual({ Topic: '<AtRest.Arn>', AlarmTopic: '<AtRest.Arn>' });
    expect(encrypted(DEFAULT, 'AWS::SQS::Queue')).toEqual({ DeadLetters: 'true' });
  });

  it('that were given up are kept for two weeks', () => {
    expect(DEFAULT.one('AWS::SQS::Queue').Properties.MessageRetentionPeriod).toBe(14 * 24 * 60 * 60);
  });
});

describe('what holds runs', () => {
  const KEEPS = ['AWS::DynamoDB::Table', 'AWS::S3::Bucket', 'AWS::Logs::LogGroup'];
  const policiesOf = (template: StackTemplate) =>
    KEEPS.flatMap((type) => template.all(type)).map(({ DeletionPolicy, UpdateReplacePolicy }) => [
      DeletionPolicy,
      UpdateReplacePolicy,
    ]);

  it('stays when the stack goes, and when a resource is replaced', () => {
    const policies = policiesOf(DEFAULT);
    expect(policies.length).toBeGreaterThan(8);
    expect(policies.filter(([deleted, replaced]) => deleted !== 'Retain' || replaced !== 'Retain')).toEqual([]);
  });

  it('goes with the stack where that is asked for', () => {
    expect(
      policiesOf(DISPOSABLE).filter(([deleted, replaced]) => deleted !== 'Delete' || replaced !== 'Delete'),
    ).toEqual([]);
    expect(tableOf(DISPOSABLE).Properties.DeletionProtectionEnabled).toBe(false);
  });
});
