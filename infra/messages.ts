import { Aws, Duration, Names, Stack } from 'aws-cdk-lib';
import { EventBus, type IEventBus } from 'aws-cdk-lib/aws-events';
import { Grant, type IGrantable, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type CfnTopic, type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { type IQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import type { ResolvedProps } from './resolved-props.ts';

/** Creates the bus for events about approvals and ended runs. Events contain ids and never a state. */
export const newBus = (scope: Construct): IEventBus =>
  new EventBus(scope, 'Bus', {
    // The name contains the stack name, so that two stacks of one app do not collide.
    eventBusName: `${Names.uniqueResourceName(scope, { maxLength: 200, separator: '-' })}-Bus`,
    description: 'Waitstate: events about approvals and ended runs',
  }) as IEventBus;

/** Creates the topic for notifications about approvals. */
export function newTopic(scope: Construct, { encryptionKey }: ResolvedProps): ITopic {
  const topic = new Topic(scope, 'Topic', {
    displayName: 'Waitstate approvals',
    enforceSSL: true,
    ...(encryptionKey && { masterKey: encryptionKey }),
  });
  if (!encryptionKey) (topic.node.defaultChild as CfnTopic).kmsMasterKeyId = 'alias/aws/sns';
  return topic;
}

/** Grants permission to publish to a topic. A customer managed key needs a grant, too; the AWS managed key does not. */
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

/**
 * Creates the topic for alarms. CloudWatch cannot use the AWS managed key, so only a customer managed key encrypts it.
 */
export function newAlarmTopic(scope: Construct, { encryptionKey }: ResolvedProps): ITopic {
  const topic = new Topic(scope, 'AlarmTopic', {
    displayName: 'Waitstate alarms',
    enforceSSL: true,
    ...(encryptionKey && { masterKey: encryptionKey }),
  });
  const fromThisAccount = {
    principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
    conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
  };
  // `enforceSSL` adds a topic policy, which replaces the default one that allows CloudWatch.
  // https://repost.aws/knowledge-center/cloudwatch-receive-sns-for-alarm-trigger
  topic.addToResourcePolicy(
    new PolicyStatement({ ...fromThisAccount, actions: ['sns:Publish'], resources: [topic.topicArn] }),
  );
  encryptionKey?.addToResourcePolicy(
    new PolicyStatement({ ...fromThisAccount, actions: ['kms:Decrypt', 'kms:GenerateDataKey*'], resources: ['*'] }),
  );
  return topic;
}

/** Creates the queue for events that failed after all retries. Messages contain ids; the sweeper finds the runs. */
export function newDeadLetterQueue(scope: Construct): IQueue {
  const queue = new Queue(scope, 'DeadLetters', {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  });
  acknowledge(queue, { 'AwsSolutions-SQS3': 'This is the dead-letter queue.' });
  return queue;
}
