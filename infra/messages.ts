import { Duration, Stack } from 'aws-cdk-lib';
import { EventBus, type IEventBus } from 'aws-cdk-lib/aws-events';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Alias } from 'aws-cdk-lib/aws-kms';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { type IQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import type { HoldpointProps } from './holdpoint-props.ts';

/** A bus for approvals and ends of runs: ids, and never a state. */
export const newBus = (scope: Construct): IEventBus =>
  new EventBus(scope, 'Bus', {
    description: 'Holdpoint: approvals that people are asked for, and runs that have ended',
  }) as IEventBus;

/** A topic for people who want to hear of approvals. */
export const newTopic = (scope: Construct, { encryptionKey }: HoldpointProps): ITopic =>
  new Topic(scope, 'Topic', {
    displayName: 'Holdpoint approvals',
    enforceSSL: true,
    masterKey: encryptionKey ?? Alias.fromAliasName(scope, 'TopicKey', 'alias/aws/sns'),
  });

/** A topic for alarms. CloudWatch cannot publish under the key of AWS: only one of your own encrypts it. */
export function newAlarmTopic(scope: Construct, { encryptionKey }: HoldpointProps): ITopic {
  const topic = new Topic(scope, 'AlarmTopic', {
    displayName: 'Holdpoint alarms',
    enforceSSL: true,
    ...(encryptionKey && { masterKey: encryptionKey }),
  });
  encryptionKey?.addToResourcePolicy(
    new PolicyStatement({
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: ['kms:Decrypt', 'kms:GenerateDataKey*'],
      resources: ['*'],
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
    }),
  );
  return topic;
}

/** What was given up after all tries: ids of runs, never a state. The sweeper finds the runs themselves. */
export function newDeadLetters(scope: Construct): IQueue {
  const queue = new Queue(scope, 'DeadLetters', {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  });
  acknowledge(queue, { 'AwsSolutions-SQS3': 'This is the dead-letter queue.' });
  return queue;
}
