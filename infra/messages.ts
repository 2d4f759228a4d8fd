import { Aws, Duration, Names, Stack } from 'aws-cdk-lib';
import { EventBus, type IEventBus } from 'aws-cdk-lib/aws-events';
import { Grant, type IGrantable, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type CfnTopic, type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { type IQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import type { ResolvedProps } from './resolved-props.ts';

/** A bus for approvals and ends of runs: ids, and never a state. */
export const newBus = (scope: Construct): IEventBus =>
  new EventBus(scope, 'Bus', {
    // The name of the stack is in it: two that were made of one app do not meet.
    eventBusName: `${Names.uniqueResourceName(scope, { maxLength: 200, separator: '-' })}-Bus`,
    description: 'Waitstate: approvals that people are asked for, and runs that have ended',
  }) as IEventBus;

/** A topic for people who want to hear of approvals. */
export function newTopic(scope: Construct, { encryptionKey }: ResolvedProps): ITopic {
  const topic = new Topic(scope, 'Topic', {
    displayName: 'Waitstate approvals',
    enforceSSL: true,
    ...(encryptionKey && { masterKey: encryptionKey }),
  });
  if (!encryptionKey) (topic.node.defaultChild as CfnTopic).kmsMasterKeyId = 'alias/aws/sns';
  return topic;
}

/** Lets somebody publish. The key of AWS lets all who may; one of your own must name them. */
export function grantPublish({ topicArn, masterKey }: ITopic, grantee: IGrantable): void {
  Grant.addToPrincipal({ grantee, actions: ['sns:Publish'], resourceArns: [topicArn] });
  if (masterKey)
    Grant.addToPrincipal({
      grantee,
      actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
      resourceArns: [masterKey.keyArn],
      conditions: { StringEquals: { 'kms:ViaService': `sns.${Aws.REGION}.${Aws.URL_SUFFIX}` } },
    });
}

/** A topic for alarms. CloudWatch cannot publish under the key of AWS: only one of your own encrypts it. */
export function newAlarmTopic(scope: Construct, { encryptionKey }: ResolvedProps): ITopic {
  const topic = new Topic(scope, 'AlarmTopic', {
    displayName: 'Waitstate alarms',
    enforceSSL: true,
    ...(encryptionKey && { masterKey: encryptionKey }),
  });
  const ofThisAccount = {
    principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
    conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
  };
  // A policy of one's own replaces that which lets CloudWatch in.
  // https://repost.aws/knowledge-center/cloudwatch-receive-sns-for-alarm-trigger
  topic.addToResourcePolicy(
    new PolicyStatement({ ...ofThisAccount, actions: ['sns:Publish'], resources: [topic.topicArn] }),
  );
  encryptionKey?.addToResourcePolicy(
    new PolicyStatement({ ...ofThisAccount, actions: ['kms:Decrypt', 'kms:GenerateDataKey*'], resources: ['*'] }),
  );
  return topic;
}

/** What was given up after all tries: ids of runs, never a state. The sweeper finds the runs themselves. */
export function newDeadLetterQueue(scope: Construct): IQueue {
  const queue = new Queue(scope, 'DeadLetters', {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  });
  acknowledge(queue, { 'AwsSolutions-SQS3': 'This is the dead-letter queue.' });
  return queue;
}
