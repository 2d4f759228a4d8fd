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
 * Has a function see the changes of the table that concern it. What fails is tried again by itself, and what was tried
 * often enough goes to the dead letters, so that nothing waits behind it: the sweeper finds the run.
 */
export function addStreamTrigger(
  target: LambdaFunction,
  handler: keyof typeof STREAM_FILTERS,
  { table, encryptionKeys: atRest }: StorageResources,
  deadLetterQueue: IQueue,
): void {
  const { tableStreamArn: eventSourceArn } = table;
  if (eventSourceArn === undefined)
    throw new Error(
      `${target.node.path}: the table needs a stream of new and old images, and this one says none. ` +
        'Turn it on, and import the table with `Table.fromTableAttributes({ tableArn, tableStreamArn })`.',
    );
  const policy = streamPolicy(target, eventSourceArn, atRest);
  target
    .addEventSourceMapping('Stream', {
      eventSourceArn,
      // From the very beginning: what is written before Lambda has begun to read is not lost.
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

/** Lets Lambda read the stream as a function, by a policy of its own: nothing else hides behind its one wildcard. */
function streamPolicy(target: LambdaFunction, stream: string, atRest: readonly IKey[]): Policy {
  const policy = new Policy(target, 'StreamPolicy', {
    statements: [
      new PolicyStatement({
        actions: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
        resources: [stream],
      }),
      new PolicyStatement({ actions: ['dynamodb:ListStreams'], resources: ['*'] }),
      ...atRest.map(
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
    'AwsSolutions-IAM5[Resource::*]': 'dynamodb:ListStreams knows no resource that could be named.',
  });
  return policy;
}

/**
 * Invokes a function again and again, with each of the events. An invocation that was missed is not made up for: the next
 * one does it all.
 */
export function addScheduleTrigger(
  target: LambdaFunction,
  every: Duration,
  deadLetterQueue: IQueue,
  events: readonly object[] = [{}],
): void {
  const once = { retryAttempts: 0, maxEventAge: Duration.minutes(5) };
  target.configureAsyncInvoke(once);
  for (const [at, event] of events.entries())
    new Rule(target, at === 0 ? 'Schedule' : `Schedule${at + 1}`, {
      description: `Invokes ${target.node.id} of Waitstate`,
      schedule: Schedule.rate(every),
      targets: [
        new FunctionTarget(target, {
          ...once,
          deadLetterQueue,
          event: RuleTargetInput.fromObject(event),
        }),
      ],
    });
}

/** The events of so many sweepers: each has its shards of what is due. */
export const sweepEvents = (sweepers: number): readonly object[] =>
  sweepers === 1
    ? [{}]
    : Array.from({ length: sweepers }, (_, sweeper) => ({
        shards: SHARDS.filter((shard) => shard % sweepers === sweeper),
      }));
