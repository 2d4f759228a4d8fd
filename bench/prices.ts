/** A list price. */
export interface Price {
  readonly dollars: number;
  readonly of: string;
  /** The page that lists it. */
  readonly page: string;
}

const price = (dollars: number, of: string, page: string): Price => ({ dollars, of, page });

/**
 * List prices in us-east-1, on demand, without free tiers or discounts, as of November 2026. S3 deletes, scheduled rules
 * and the requests that Lambda sends to read a table's stream are free.
 */
export const PRICES = {
  writeUnit: price(0.625, 'a million write units', 'Amazon DynamoDB pricing, on-demand capacity'),
  readUnit: price(0.125, 'a million read units', 'Amazon DynamoDB pricing, on-demand capacity'),
  dynamoGb: price(0.25, 'a GB in table and indexes, a month', 'Amazon DynamoDB pricing, data storage'),
  recoveryGb: price(0.2, 'point-in-time recovery of that GB, a month', 'Amazon DynamoDB pricing, backup'),
  s3Put: price(5, 'a million PUT, COPY, POST or LIST requests', 'Amazon S3 pricing, S3 Standard'),
  s3Get: price(0.4, 'a million GET requests', 'Amazon S3 pricing, S3 Standard'),
  s3Gb: price(0.023, 'a GB in the bucket, a month', 'Amazon S3 pricing, S3 Standard, first 50 TB'),
  invocation: price(0.2, 'a million Lambda invocations', 'AWS Lambda pricing'),
  gbSecond: price(13.3334, 'a million GB-seconds', 'AWS Lambda pricing, Arm, first tier'),
  apiRequest: price(
    1,
    'a million API requests, up to 512 KB each',
    'Amazon API Gateway pricing, HTTP APIs, first tier',
  ),
  event: price(1, 'a million EventBridge events, up to 64 KB each', 'Amazon EventBridge pricing, custom events'),
  message: price(0.5, 'a million SNS messages, up to 64 KB each', 'Amazon SNS pricing, standard topics'),
  metric: price(0.3, 'a custom metric, a month', 'Amazon CloudWatch pricing, custom metrics, first tier'),
  alarmMetric: price(0.1, 'an alarm metric, a month', 'Amazon CloudWatch pricing, standard resolution'),
  dashboard: price(3, 'a dashboard, a month', 'Amazon CloudWatch pricing'),
  logGb: price(0.5, 'a GB of logs', 'Amazon CloudWatch pricing, collected'),
  key: price(1, 'a KMS key, a month', 'AWS Key Management Service pricing'),
  keyRequest: price(3, 'a million KMS requests', 'AWS Key Management Service pricing'),
  durableOperation: price(8, 'a million durable operations', 'AWS Lambda pricing, durable functions'),
  durableGbWritten: price(0.25, 'a GB written by durable functions', 'AWS Lambda pricing, durable functions'),
  durableGb: price(0.15, 'a GB stored by durable functions, a month', 'AWS Lambda pricing, durable functions'),
  transition: price(25, 'a million state transitions', 'AWS Step Functions pricing, standard workflows'),
  actionOfFew: price(50, 'a million actions, up to five million', 'Temporal Cloud pricing, pay as you go'),
  actionOfMany: price(25, 'a million actions, above a hundred million', 'Temporal Cloud pricing, Business plan'),
  activeGbHour: price(0.042, 'a GB-hour of active storage', 'Temporal Cloud pricing'),
  retainedGbHour: price(0.00105, 'a GB-hour of retained storage', 'Temporal Cloud pricing'),
} as const satisfies Record<string, Price>;

/** Formats a price with all its listed digits. */
export const formatPrice = ({ dollars }: Price): string =>
  `$${dollars.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 5 })}`;
