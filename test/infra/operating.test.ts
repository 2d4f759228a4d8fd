import { readFileSync } from 'node:fs';
import { Duration } from 'aws-cdk-lib';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { Waitstate } from '../../infra/index.ts';
import { HANDLERS, serviceOf } from '../../lambda/environment/names.ts';
import { type AlarmProperties, alarmsOf, metricsOf, widgetsOf } from './metrics.ts';
import { allOptions, existingResources, functionOf, stackOf, templateOf, withAgents } from './stacks.ts';
import { StackTemplate } from './template.ts';

const DEFAULT = templateOf();
const EVERYTHING = templateOf(allOptions);
const NAMESPACE = 'Waitstate/Stack-Waitstate-1621B3FF';

describe('what is measured', () => {
  // What AWS measures by itself, and by which dimensions.
  const OF_AWS: Readonly<Record<string, string>> = {
    // https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
    ...{ 'AWS/Lambda Invocations': 'FunctionName', 'AWS/Lambda Errors': 'FunctionName' },
    ...{ 'AWS/Lambda Throttles': 'FunctionName', 'AWS/Lambda Duration': 'FunctionName' },
    'AWS/Lambda IteratorAge': 'FunctionName',
    // https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
    'AWS/SQS ApproximateNumberOfMessagesVisible': 'QueueName',
    // https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
    'AWS/DynamoDB ThrottledRequests': 'Operation TableName',
    'AWS/DynamoDB ConditionalCheckFailedRequests': 'TableName',
    'AWS/DynamoDB TransactionConflict': 'TableName',
    'AWS/DynamoDB ConsumedReadCapacityUnits': 'TableName',
    'AWS/DynamoDB ConsumedWriteCapacityUnits': 'TableName',
    // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html
    ...{ 'AWS/ApiGateway 4xx': 'ApiId', 'AWS/ApiGateway 5xx': 'ApiId' },
    ...{ 'AWS/ApiGateway Count': 'ApiId', 'AWS/ApiGateway Latency': 'ApiId' },
    // https://docs.aws.amazon.com/AmazonS3/latest/userguide/metrics-dimensions.html
    'AWS/S3 BucketSizeBytes': 'BucketName StorageType',
  };

  it('is measured by AWS under that name, by these dimensions', () => {
    const theirs = metricsOf(EVERYTHING).filter(({ namespace }) => namespace.startsWith('AWS/'));
    const found = theirs.map(({ namespace, metric, of }) => [
      `${namespace} ${metric}`,
      Object.keys(of).sort().join(' '),
    ]);
    expect(Object.fromEntries(found)).toEqual(OF_AWS);
    for (const [name, dimensions] of found) expect(dimensions, name).toBe(OF_AWS[String(name)]);
  });

  it('or by the handler that is named, in the namespace that it writes into', async () => {
    const ours = metricsOf(EVERYTHING).filter(({ namespace }) => !namespace.startsWith('AWS/'));
    expect(new Set(ours.map(({ namespace }) => namespace))).toEqual(new Set([NAMESPACE]));
    const { outputFiles } = await build({
      entryPoints: HANDLERS.map((name) => `lambda/handlers/${name}.ts`),
      ...{ bundle: true, write: false, outdir: 'out', platform: 'node', format: 'esm', packages: 'external' },
    });
    const sources = new Map(outputFiles.map(({ path, text }) => [path.replace(/^.*\/(\w+)\.js$/, '$1'), text]));
    expect(ours.length).toBeGreaterThan(25);
    for (const { metric, of } of ours) {
      expect(Object.keys(of)).toEqual(['service']);
      const handler = HANDLERS.find((name) => serviceOf(name) === of.service);
      expect(sources.get(String(handler)), `${metric} of ${of.service}`).toMatch(new RegExp(`\\b${metric}\\b`));
    }
  });

  it('is of this stack', () => {
    const values = metricsOf(EVERYTHING).flatMap(({ of }) => Object.values(of));
    const others = values.filter(
      (value) => !/^(<.*>|waitstate-\w+|StandardStorage|[A-Z]\w+(Item|Items|Query)|Query)$/.test(value),
    );
    expect(others).toEqual([]);
  });

  it('counts as nothing where there is none, so that one that is missing hides no other', () => {
    const sums = alarmsOf(EVERYTHING).flatMap(({ Properties }) =>
      (Properties.Metrics ?? []).flatMap(({ Expression }) => Expression ?? []),
    );
    expect(sums.length).toBeGreaterThan(4);
    for (const sum of sums) expect(sum).toMatch(/^FILL\(m\d,0\)(\+FILL\(m\d,0\))*$/);
  });
});

describe('alarms', () => {
  const names = alarmsOf(DEFAULT).map(({ name }) => name.replace('Alarms/', ''));

  it('are on what nobody would see otherwise', () => {
    expect(names).toEqual(
      expect.arrayContaining([
        'OldestReady',
        'DeadLetters',
        'HandlerErrors',
        'HandlerThrottles',
        'TableThrottles',
        'ApprovalsDueSoon',
      ]),
    );
  });

  it.each(names)('%s tells the topic, also when it is over, and names what to do', (name) => {
    const { AlarmActions, OKActions, AlarmDescription } = DEFAULT.one<AlarmProperties>(
      'AWS::CloudWatch::Alarm',
      `Alarms/${name}`,
    ).Properties;
    expect([AlarmActions, OKActions].map((actions) => DEFAULT.plain(actions))).toEqual([
      ['<AlarmTopic>'],
      ['<AlarmTopic>'],
    ]);
    expect(AlarmDescription).toContain(`See "${name}" in docs/guides/operating.md`);
    const headings = readFileSync(new URL('../../docs/guides/operating.md', import.meta.url), 'utf8').match(
      /^### .*$/gm,
    );
    expect(headings).toContain(`### ${name}`);
  });

  it('have no heading too many', () => {
    const page = readFileSync(new URL('../../docs/guides/operating.md', import.meta.url), 'utf8');
    const section = /^## Alarms$(.*?)^## /ms.exec(page)?.[1] ?? '';
    expect([...section.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading).sort()).toEqual(names.toSorted());
  });

  it('wait for a sweeper that comes seldom', () => {
    const stack = stackOf();
    new Waitstate(stack, 'Waitstate', { ...allOptions(stack), sweepEvery: Duration.minutes(10) });
    expect(new StackTemplate(stack).one('AWS::CloudWatch::Alarm', 'Alarms/SweepNotRunning').Properties).toMatchObject({
      Period: 1200,
      Threshold: 1,
      ComparisonOperator: 'LessThanThreshold',
      TreatMissingData: 'breaching',
    });
  });

  it('go to a topic that is given, and are left out where nobody wants them', () => {
    const own = templateOf(existingResources);
    for (const { Properties } of alarmsOf(own))
      expect(Properties.AlarmActions).toEqual(['arn:aws:sns:eu-central-1:111122223333:alarms']);
    expect(own.all('AWS::SNS::Topic')).toEqual([]);
    const none = templateOf(() => ({ alarms: false }));
    expect(alarmsOf(none)).toEqual([]);
    expect(none.all('AWS::SNS::Topic').map(({ name }) => name)).toEqual(['Topic']);
    expect(widgetsOf(none).filter(({ type }) => type === 'alarm')).toEqual([]);
  });
});

describe('the dashboard', () => {
  it('shows all alarms', () => {
    const [shown] = widgetsOf(DEFAULT).filter(({ type }) => type === 'alarm');
    expect(shown?.properties.alarms).toEqual(alarmsOf(DEFAULT).map(({ name }) => `<${name}.Arn>`));
  });

  it('shows each agent, whatever it is called', () => {
    const stack = stackOf();
    const hold = withAgents(stack);
    hold.addAgent('"odd" \\ näme/1', { function: functionOf(stack, 'Odd') });
    const shown = widgetsOf(new StackTemplate(stack)).flatMap(({ properties }) => properties.metrics ?? []);
    for (const [agent, of] of [
      ['refunds', 'Agent-refunds'],
      ['quotes', 'Quotes'],
      ['legacy', 'Legacy'],
      ['"odd" \\ näme/1', 'Odd'],
    ]) {
      const rows = shown.filter((row) => row.includes(`<${of}>`)).map((row) => [row[1], Object(row.at(-1)).label]);
      expect(rows).toEqual([
        ['Invocations', agent],
        ['Errors', `${agent}: errors`],
        ['Duration', agent],
      ]);
    }
  });

  it('shows runs by status, what waits, what fails and what it costs', () => {
    expect(widgetsOf(DEFAULT).map(({ properties }) => properties.title)).toEqual([
      'Alarms',
      'Runs by status (counted up to 1,000 each)',
      'Runs that ended',
      'Oldest READY (s)',
      'Approvals that wait',
      'Oldest question (s)',
      'Answers, and people told',
      'Lag of the stream (ms)',
      'Deliveries and retries',
      'Conflicts and dead letters',
      'API: requests',
      'API: latency (ms, p90)',
      'Handlers: errors, throttles',
      'Table: throttled requests',
      'Cost: units of DynamoDB',
      'Cost: time of functions (ms)',
      'Cost: bytes in the bucket',
      'Agents: invocations, errors',
      'Agents: how long an invocation takes (ms)',
    ]);
  });

  it('has no graph without a metric, which CloudWatch would refuse, where there is no agent', () => {
    const stack = stackOf();
    new Waitstate(stack, 'Waitstate');
    const graphs = widgetsOf(new StackTemplate(stack)).filter(({ type }) => type === 'metric');
    expect(graphs.length).toBeGreaterThan(10);
    expect(graphs.filter(({ properties }) => !properties.metrics?.length)).toEqual([]);
  });

  it('is left out where nobody wants it', () => {
    expect(templateOf(() => ({ dashboard: false })).all('AWS::CloudWatch::Dashboard')).toEqual([]);
  });
});
