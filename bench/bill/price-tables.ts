import { markdownTable, money } from '../markdown-table.ts';
import { MONTHLY, PEERS, PRICES } from '../prices.ts';
import { FUNCTIONS, invocations } from './lines.ts';

/** The prices that everything is made of, and the page of each. */
export function pricesTable(): string {
  const { durableFunctions, stepFunctions, temporal } = PEERS;
  const rows: readonly (readonly [what: string, price: string, page: string])[] = [
    ['a million write units', `$${PRICES.writeUnit}`, 'Amazon DynamoDB pricing, on-demand capacity'],
    ['a million read units', `$${PRICES.readUnit}`, 'the same'],
    ['a GB in the table, a month', money(MONTHLY.dynamoGb), 'the same, data storage'],
    ['its point-in-time recovery', money(MONTHLY.recoveryGb), 'the same, backup'],
    ['a million PUT, COPY, POST, LIST', money(PRICES.s3Put), 'Amazon S3 pricing, S3 Standard'],
    ['a million GET', money(PRICES.s3Get), 'the same'],
    ['a GB in the bucket, a month', `$${MONTHLY.s3Gb}`, 'the same, first 50 TB'],
    ['a million invocations', money(PRICES.lambdaRequest), 'AWS Lambda pricing'],
    ['a million GB-seconds', `$${PRICES.lambdaGbSecond}`, 'AWS Lambda pricing, Arm, first tier'],
    ['a million requests to the API', money(PRICES.apiRequest), 'Amazon API Gateway pricing, HTTP APIs, first tier'],
    ['a million events', money(PRICES.event), 'Amazon EventBridge pricing, custom events'],
    ['a million messages to the topic', money(PRICES.message), 'Amazon SNS pricing, standard topics'],
    ['a million traces', money(PRICES.trace), 'AWS X-Ray pricing, traces recorded'],
    ['a metric, a month', money(MONTHLY.metric), 'Amazon CloudWatch pricing, custom metrics, first tier'],
    ['a metric of an alarm, a month', money(MONTHLY.alarmMetric), 'the same, standard resolution'],
    ['a dashboard, a month', money(MONTHLY.dashboard), 'the same'],
    ['a GB of logs', money(MONTHLY.logGb), 'the same, collected'],
    ['a key of your own, a month', money(MONTHLY.key), 'AWS Key Management Service pricing'],
    ['a million durable operations', money(durableFunctions.operations), 'AWS Lambda pricing, durable functions'],
    ['a GB that they write', money(durableFunctions.writtenGb), 'the same'],
    ['a GB that they keep, a month', money(durableFunctions.keptGb), 'the same'],
    ['a million state transitions', money(stepFunctions.transitions), 'AWS Step Functions pricing, standard workflows'],
    ['a million actions, of the first five', money(temporal.actions.few), 'Temporal Cloud pricing, pay as you go'],
    ['a million actions, above a hundred', money(temporal.actions.many), 'the same, Business plan'],
    ['a GB for an hour, active', `$${temporal.activeGbHour}`, 'the same'],
    ['a GB for an hour, retained', `$${temporal.retainedGbHour}`, 'the same'],
  ];
  return markdownTable(['what', 'list price', 'page'], rows);
}

/** The functions, the memory that they have, and how long they are taken to run. */
export const functionsTable = (): string =>
  markdownTable(
    ['function', 'memory, MB', 'taken to run, ms', 'a million invocations'],
    Object.entries(FUNCTIONS).map(([name, { memoryMB, ms }]) => [
      name === 'agent' ? 'an agent, what Holdpoint adds' : `\`${name}\``,
      memoryMB,
      ms,
      money(invocations(name as keyof typeof FUNCTIONS, 1e6)),
    ]),
  );
