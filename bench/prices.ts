/** A list price. */
export interface Price {
  readonly dollars: number;
  readonly of: string;
  /** The page that it is on. */
  readonly page: string;
}

const price = (dollars: number, of: string, page: string): Price => ({ dollars, of, page });

/**
 * List prices, us-east-1, on demand, without free tiers and discounts, as of November 2026. S3 deletes are free, and so
 * are scheduled rules and the requests by which Lambda reads a table's stream.
 */
export const PRICES = {
  writeUnit: price(0.625, 'a million write units', 'Amazon DynamoDB pricing, on-demand capacity'),
  readUnit: price(0.125, 'a million read units', 'the same'),
  dynamoGb: price(0.25, 'a GB in table and indexes, a month', 'the same, data storage'),
  recoveryGb: price(0.2, 'its point-in-time recovery', 'the same, backup'),
  s3Put: price(5, 'a million PUT, COPY, POST, LIST', 'Amazon S3 pricing, S3 Standard'),
  s3Get: price(0.4, 'a million GET', 'the same'),
  s3Gb: price(0.023, 'a GB in the bucket, a month', 'the same, first 50 TB'),
  invocation: price(0.2, 'a million invocations', 'AWS Lambda pricing'),
  gbSecond: price(13.3334, 'a million GB-seconds', 'the same, Arm, first tier'),
  apiRequest: price(
    1,
    'a million requests to the API, up to 512 KB each',
    'Amazon API Gateway pricing, HTTP APIs, first tier',
  ),
  event: price(1, 'a million events, up to 64 KB each', 'Amazon EventBridge pricing, custom events'),
  message: price(0.5, 'a million messages to the topic, up to 64 KB each', 'Amazon SNS pricing, standard topics'),
  trace: price(5, 'a million traces', 'AWS X-Ray pricing, traces recorded'),
  metric: price(0.3, 'a metric, a month', 'Amazon CloudWatch pricing, custom metrics, first tier'),
  alarmMetric: price(0.1, 'a metric of an alarm, a month', 'the same, standard resolution'),
  dashboard: price(3, 'a dashboard, a month', 'the same'),
  logGb: price(0.5, 'a GB of logs', 'the same, collected'),
  key: price(1, 'a key of your own, a month', 'AWS Key Management Service pricing'),
  keyRequest: price(3, 'a million requests to it', 'the same'),
  durableOperation: price(8, 'a million durable operations', 'AWS Lambda pricing, durable functions'),
  durableGbWritten: price(0.25, 'a GB that they write', 'the same'),
  durableGb: price(0.15, 'a GB that they keep, a month', 'the same'),
  transition: price(25, 'a million state transitions', 'AWS Step Functions pricing, standard workflows'),
  actionOfFew: price(50, 'a million actions, of the first five', 'Temporal Cloud pricing, pay as you go'),
  actionOfMany: price(25, 'a million actions, above a hundred', 'the same, Business plan'),
  activeGbHour: price(0.042, 'a GB for an hour, active', 'the same'),
  retainedGbHour: price(0.00105, 'a GB for an hour, retained', 'the same'),
} as const satisfies Record<string, Price>;

/** A price as it is listed, every digit of it. */
export const listed = ({ dollars }: Price): string =>
  `$${dollars.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 5 })}`;
