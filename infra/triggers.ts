import { Duration } from 'aws-cdk-lib';
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as FunctionTarget } from 'aws-cdk-lib/aws-events-targets';
import { Policy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { FilterCriteria, type Function as LambdaFunction, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import { SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { STREAM_FILTERS } from '../lambda/handlers/stream-filters.ts';
import { SHARDS } from '../lambda/storage/keys.ts';
import { KEY_TO_READ, type StorageResources, viaService } from './access.ts';
import { acknowledge } from './acknowledge.ts';

/**
 * Invokes a handler with the stream records that match its filters. Failed records are retried separately. After all
 * retries a record goes to the dead-letter queue, so that it does not block others; the sweeper finds its run.
 */
export function addStreamTrigger(
  target: LambdaFunction,
  handler: keyof typeof STREAM_FILTERS,
  { table, encryptionKeys }: StorageResources,
  deadLetterQueue: IQueue,
): void {
  const { tableStreamArn: eventSourceArn } = table;
  if (eventSourceArn === undefined)
    throw new Error(
      `${target.node.path}: the table must have a stream of new and old images; found none. ` +
        'Turn it on, and import the table with `Table.fromTableAttributes({ tableArn, tableStreamArn })`.',
    );
  const policy = streamPolicy(target, eventSourceArn, encryptionKeys);
  target
    .addEventSourceMapping('Stream', {
      eventSourceArn,
      // With LATEST, records written before the first poll of Lambda would be lost.
      startingPosition: StartingPosition.TRIM_HORIZON,
      filters: STREAM_FILTERS[handler].map((filter) => FilterCriteria.filter(filter)),
      batchSize: 100,
      parallelizationFactor: 5,
      retryAttempts: 4,
      maxRecordAge: Duration.hours(1),
      bisectBatchOnError: true,
      reportBatchItemFailures: true,
      onFailure: new SqsDlq(deadLetterQueue),
    })
    .node.addDependency(policy);
}

/** Lets a function read the stream. A separate policy has the wildcard, so that it can be acknowledged alone. */
function streamPolicy(target: LambdaFunction, streamArn: string, encryptionKeys: readonly IKey[]): Policy {
  const policy = new Policy(target, 'StreamPolicy', {
    statements: [
      new PolicyStatement({
        actions: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
        resources: [streamArn],
      }),
      new PolicyStatement({ actions: ['dynamodb:ListStreams'], resources: ['*'] }),
      ...encryptionKeys.map(
        ({ keyArn }) =>
          new PolicyStatement({
            actions: KEY_TO_READ,
            resources: [keyArn],
            conditions: { StringEquals: { 'kms:ViaService': viaService('dynamodb') } },
          }),
      ),
    ],
    roles: target.role ? [target.role] : [],
  });
  acknowledge(policy, {
    'AwsSolutions-IAM5[Resource::*]': 'dynamodb:ListStreams does not support resource ARNs.',
  });
  return policy;
}

/**
 * Invokes a function on a schedule, once with each of the events. A missed invocation is not repeated, because the next
 * one does its work, too.
 */
export function addScheduleTrigger(
  target: LambdaFunction,
  every: Duration,
  deadLetterQueue: IQueue,
  events: readonly object[] = [{}],
): void {
  const noRetries = { retryAttempts: 0, maxEventAge: Duration.minutes(5) };
  target.configureAsyncInvoke(noRetries);
  for (const [index, event] of events.entries())
    new Rule(target, index === 0 ? 'Schedule' : `Schedule${index + 1}`, {
      description: `Invokes ${target.node.id} of Waitstate`,
      schedule: Schedule.rate(every),
      targets: [
        new FunctionTarget(target, {
          ...noRetries,
          deadLetterQueue,
          event: RuleTargetInput.fromObject(event),
        }),
      ],
    });
}

/** The events of parallel sweepers: each gets a part of the shards. */
export const sweepEvents = (sweepers: number): readonly object[] =>
  sweepers === 1
    ? [{}]
    : Array.from({ length: sweepers }, (_, sweeper) => ({
        shards: SHARDS.filter((shard) => shard % sweepers === sweeper),
      }));
