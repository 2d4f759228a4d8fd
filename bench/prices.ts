/**
 * List prices in dollars per million, us-east-1, on demand, without free tiers and discounts, as of November 2026. S3
 * deletes are free, and so are the requests by which Lambda reads a table's stream.
 */
export const PRICES = {
  /** Amazon DynamoDB pricing, on-demand capacity: a million write and read request units. */
  writeUnit: 0.625,
  readUnit: 0.125,
  /** Amazon S3 pricing, S3 Standard: a million PUT, COPY, POST and LIST, or GET, requests. */
  s3Put: 5,
  s3Get: 0.4,
  /** AWS Lambda pricing, Arm: a million requests, a million GB-seconds of the first tier. */
  lambdaRequest: 0.2,
  lambdaGbSecond: 13.3334,
  /** Amazon API Gateway pricing, HTTP APIs: a million requests of the first tier, up to 512 KB each. */
  apiRequest: 1,
  /** Amazon EventBridge pricing, event buses: a million custom events, up to 64 KB each. Scheduled rules are free. */
  event: 1,
  /** Amazon SNS pricing, standard topics: a million publishes, up to 64 KB each, before their delivery. */
  message: 0.5,
  /** AWS X-Ray pricing: a million traces recorded. */
  trace: 5,
} as const;

/** List prices in dollars for a month, as above. */
export const MONTHLY = {
  /** Amazon DynamoDB pricing: a GB in tables and indexes, and as much again for point-in-time recovery. */
  dynamoGb: 0.25,
  recoveryGb: 0.2,
  /** Amazon S3 pricing, S3 Standard: a GB of the first tier. */
  s3Gb: 0.023,
  /** Amazon CloudWatch pricing: a custom metric, a metric of a standard alarm, a dashboard, a GB of logs taken in. */
  metric: 0.3,
  alarmMetric: 0.1,
  dashboard: 3,
  logGb: 0.5,
  /** AWS Key Management Service pricing: a customer managed key. */
  key: 1,
} as const;

/** What others ask for, in dollars, as of November 2026. */
export const PEERS = {
  /** AWS Lambda pricing, durable functions: a million operations, a GB written, a GB kept for a month. */
  durableFunctions: { operations: 8, writtenGb: 0.25, keptGb: 0.15 },
  /** AWS Step Functions pricing, standard workflows: a million state transitions. */
  stepFunctions: { transitions: 25 },
  /** Temporal Cloud pricing: a million actions, the first five and those above a hundred; a GB for an hour while a workflow is open, and after. */
  temporal: { actions: { few: 50, many: 25 }, activeGbHour: 0.042, retainedGbHour: 0.00105 },
} as const;
