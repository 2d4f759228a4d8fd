import { Duration, Stack } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { type HandlerName, serviceOf } from '../../lambda/environment/names.ts';
import type { Metric as MetricName } from '../../lambda/runtime/telemetry.ts';
import { TABLE } from '../../lambda/storage/dynamodb/table.ts';

/** The resources that the dashboard and the alarms observe. */
export interface MonitoredResources {
  readonly namespace: string;
  readonly handlers: Readonly<Record<HandlerName, IFunction>>;
  readonly table: ITable;
  readonly bucket: IBucket;
  readonly apis: readonly HttpApi[];
  readonly deadLetterQueue: IQueue;
  /** The interval of the sweeper. */
  readonly sweepMinutes: number;
}

/** The interval of the gauges, and therefore the period of alarms and graphs. */
export const PERIOD = Duration.minutes(5);

/** A metric that a handler writes. */
export const waitstateMetric = (
  { namespace }: MonitoredResources,
  handler: HandlerName,
  metricName: MetricName,
  statistic: 'Sum' | 'Maximum',
  label: string,
): Metric =>
  new Metric({
    namespace,
    metricName,
    statistic,
    label,
    period: PERIOD,
    dimensionsMap: { service: serviceOf(handler) },
  });

/** The same metric of several functions, labeled with their names. */
export const functionMetrics = (
  functions: Iterable<readonly [string, IFunction]>,
  metric: (fn: IFunction, options: { label: string; period: Duration }) => Metric,
): Metric[] => [...functions].map(([label, fn]) => metric(fn, { label, period: PERIOD }));

/** The sum of metrics, where missing data counts as 0. */
export const sumMetric = (label: string, metrics: readonly Metric[]): IMetric =>
  new MathExpression({
    label,
    period: PERIOD,
    expression: metrics.map((_, index) => `FILL(m${index},0)`).join('+'),
    usingMetrics: Object.fromEntries(metrics.map((metric, index) => [`m${index}`, metric])),
  });

const OPERATIONS = ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'DeleteItem', 'TransactWriteItems'];

/** The requests to the table that DynamoDB throttled, over all operations that Waitstate uses. */
export const throttledRequests = ({ table }: MonitoredResources): IMetric =>
  sumMetric(
    'throttled requests',
    OPERATIONS.map((Operation) =>
      table.metric('ThrottledRequests', {
        dimensionsMap: { TableName: table.tableName, Operation },
        label: Operation,
        statistic: Stats.SUM,
        period: PERIOD,
      }),
    ),
  );

/** A metric that DynamoDB writes for the table. */
export const tableMetric = ({ table }: MonitoredResources, metricName: string, label: string): Metric =>
  table.metric(metricName, { label, statistic: Stats.SUM, period: PERIOD });

/** The capacity units of a kind: those of the table, which include no index, and those of each index. */
export const capacityMetrics = (monitored: MonitoredResources, kind: 'Read' | 'Write', label: string): Metric[] => {
  const name = `Consumed${kind}CapacityUnits`;
  const { table } = monitored;
  return [
    tableMetric(monitored, name, label),
    ...TABLE.GlobalSecondaryIndexes.map(({ IndexName }) =>
      tableMetric(monitored, name, `${label}, index ${IndexName}`).with({
        dimensionsMap: { TableName: table.tableName, GlobalSecondaryIndexName: IndexName },
      }),
    ),
  ];
};

/** The size of the bucket, which S3 measures once a day. */
export const bucketSizeMetric = (scope: Construct, { bucket }: MonitoredResources): Metric =>
  new Metric({
    namespace: 'AWS/S3',
    metricName: 'BucketSizeBytes',
    statistic: 'Average',
    label: 'payloads',
    period: Duration.days(1),
    dimensionsMap: { BucketName: bucket.bucketName, StorageType: 'StandardStorage' },
    region: Stack.of(scope).region,
  });
