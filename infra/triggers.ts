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
 * How long a failing record is retried. The sweeper finds a run that `resume` could not deliver, so its record soon makes
 * room for others. Nothing else repeats the end of a run that `notify` could not publish, so its record is retried for
 * almost as long as the stream keeps it, 24 hours, and then goes to the dead-letter queue.
 */
const RETRIES = {
  resume: { retryAttempts: 4, maxRecordAge: Duration.hours(1) },
  notify: { maxRecordAge: Duration.hours(23) },
} as const satisfies Record<keyof typeof STREAM_FILTERS, object>;

interface StreamTriggerOptions {
  readonly storage: StorageResources;
  readonly deadLetterQueue: IQueue;
  /** Whether the table existed before the construct. */
  readonly isExistingTable: boolean;
}

/**
 * Invokes a handler with the stream records that match its filters. Failed records are retried separately. A record that
 * keeps failing goes to the dead-letter queue, so that it does not block others.
 */
export function addStreamTrigger(
  target: LambdaFunction,
  handler: keyof typeof STREAM_FILTERS,
  { storage: { table, encryptionKeys }, deadLetterQueue, isExistingTable }: StreamTriggerOptions,
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
      // A new table has no records yet, and with LATEST those written before the first poll of Lambda would be lost. The
      // stream of an existing table has the records of a day, which another deployment has handled.
      startingPosition: isExistingTable ? StartingPosition.LATEST : StartingPosition.TRIM_HORIZON,
      filters: STREAM_FILTERS[handler].map((filter) => FilterCriteria.filter(filter)),
      batchSize: 100,
      parallelizationFactor: 5,
      ...RETRIES[handler],
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

/** When to invoke a function, and with which event. */
interface ScheduledEvent {
  readonly id: string;
  readonly every: Duration;
  readonly event?: object;
}

/**
 * Invokes a function on schedules. A missed invocation is not repeated, because the next one does its work, too.
 */
export function addScheduleTriggers(
  target: LambdaFunction,
  deadLetterQueue: IQueue,
  schedules: readonly ScheduledEvent[],
): void {
  const noRetries = { retryAttempts: 0, maxEventAge: Duration.minutes(5) };
  target.configureAsyncInvoke(noRetries);
  for (const { id, every, event = {} } of schedules)
    new Rule(target, id, {
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

/** The schedules of parallel sweepers, of which each gets a part of the shards, and of the collection of payloads. */
export const sweepSchedules = (every: Duration, sweepers: number): readonly ScheduledEvent[] => [
  ...Array.from({ length: sweepers }, (_, sweeper) => ({
    id: sweeper === 0 ? 'Schedule' : `Schedule${sweeper + 1}`,
    every,
    event: sweepers === 1 ? {} : { shards: SHARDS.filter((shard) => shard % sweepers === sweeper) },
  })),
  // It starts once a day. The other invocations continue it, or find nothing to do.
  { id: 'Collection', every: Duration.hours(1), event: { collect: true } },
];
