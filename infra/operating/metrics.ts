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

/** What there is to measure. */
export interface MonitoredResources {
  readonly namespace: string;
  readonly handlers: Readonly<Record<HandlerName, IFunction>>;
  readonly table: ITable;
  readonly bucket: IBucket;
  readonly apis: readonly HttpApi[];
  readonly deadLetterQueue: IQueue;
  /** How often there is a sweep. */
  readonly sweepMinutes: number;
}

/** How often gauges are written, and so what alarms and graphs look at. */
export const PERIOD = Duration.minutes(5);

/** A metric of ours, as a handler writes it. */
export const waitstateMetric = (
  { namespace }: MonitoredResources,
  handler: HandlerName,
  metricName: MetricName,
  statistic: 'Sum' | 'Maximum',
  label: string,
): Metric =>
  new Metric({
    ...{ namespace, metricName, statistic, label, period: PERIOD },
    dimensionsMap: { service: serviceOf(handler) },
  });

/** A metric of each function, by name. */
export const functionMetrics = (
  functions: Iterable<readonly [string, IFunction]>,
  metric: (of: IFunction, options: { label: string; period: Duration }) => Metric,
): Metric[] => [...functions].map(([label, of]) => metric(of, { label, period: PERIOD }));

/** The sum of metrics that may be missing. */
export const sumMetric = (label: string, metrics: readonly Metric[]): IMetric =>
  new MathExpression({
    label,
    period: PERIOD,
    expression: metrics.map((_, at) => `FILL(m${at},0)`).join('+'),
    usingMetrics: Object.fromEntries(metrics.map((metric, at) => [`m${at}`, metric])),
  });

const OPERATIONS = ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'DeleteItem', 'TransactWriteItems'];

/** What DynamoDB refused because of too many requests, of all operations that are used. It counts only those that it refused. */
export const throttledRequests = ({ table }: MonitoredResources): IMetric =>
  sumMetric(
    'throttled requests',
    OPERATIONS.map((Operation) =>
      table.metric('ThrottledRequests', {
        dimensionsMap: { TableName: table.tableName, Operation },
        ...{ label: Operation, statistic: Stats.SUM, period: PERIOD },
      }),
    ),
  );

/** What a table counts by itself. */
export const tableMetric = ({ table }: MonitoredResources, metricName: string, label: string): Metric =>
  table.metric(metricName, { label, statistic: Stats.SUM, period: PERIOD });

/** What a bucket holds; S3 measures it once a day. */
export const bucketSizeMetric = (scope: Construct, { bucket }: MonitoredResources): Metric =>
  new Metric({
    ...{ namespace: 'AWS/S3', metricName: 'BucketSizeBytes', statistic: 'Average', label: 'payloads' },
    period: Duration.days(1),
    dimensionsMap: { BucketName: bucket.bucketName, StorageType: 'StandardStorage' },
    region: Stack.of(scope).region,
  });
