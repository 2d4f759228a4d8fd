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

describe('the metrics of dashboard and alarms', () => {
  // The metrics that AWS services write, with their dimensions.
  const OF_AWS: Readonly<Record<string, string>> = {
    // https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
    'AWS/Lambda Invocations': 'FunctionName',
    'AWS/Lambda Errors': 'FunctionName',
    'AWS/Lambda Throttles': 'FunctionName',
    'AWS/Lambda Duration': 'FunctionName',
    'AWS/Lambda IteratorAge': 'FunctionName',
    // https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
    'AWS/SQS ApproximateNumberOfMessagesVisible': 'QueueName',
    // https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
    'AWS/DynamoDB ThrottledRequests': 'Operation TableName',
    'AWS/DynamoDB ConditionalCheckFailedRequests': 'TableName',
    'AWS/DynamoDB TransactionConflict': 'TableName',
    'AWS/DynamoDB ConsumedReadCapacityUnits': 'TableName|GlobalSecondaryIndexName TableName',
    'AWS/DynamoDB ConsumedWriteCapacityUnits': 'TableName|GlobalSecondaryIndexName TableName',
    // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html
    'AWS/ApiGateway 4xx': 'ApiId',
    'AWS/ApiGateway 5xx': 'ApiId',
    'AWS/ApiGateway Count': 'ApiId',
    'AWS/ApiGateway Latency': 'ApiId',
    // https://docs.aws.amazon.com/AmazonS3/latest/userguide/metrics-dimensions.html
    'AWS/S3 BucketSizeBytes': 'BucketName StorageType',
  };

  it('have the names and dimensions of AWS', () => {
    const awsMetrics = metricsOf(EVERYTHING).filter(({ namespace }) => namespace.startsWith('AWS/'));
    const found = awsMetrics.map(({ namespace, metric, of }) => [
      `${namespace} ${metric}`,
      Object.keys(of).sort().join(' '),
    ]);
    expect(new Set(found.map(([name]) => name))).toEqual(new Set(Object.keys(OF_AWS)));
    for (const [name, dimensions] of found) expect(OF_AWS[String(name)]?.split('|'), name).toContain(dimensions);
  });

  it('are written by the handler in their dimension, into its namespace', async () => {
    const ours = metricsOf(EVERYTHING).filter(({ namespace }) => !namespace.startsWith('AWS/'));
    expect(new Set(ours.map(({ namespace }) => namespace))).toEqual(new Set([NAMESPACE]));
    const { outputFiles } = await build({
      entryPoints: HANDLERS.map((name) => `lambda/handlers/${name}.ts`),
      bundle: true,
      write: false,
      outdir: 'out',
      platform: 'node',
      format: 'esm',
      packages: 'external',
    });
    const sources = new Map(outputFiles.map(({ path, text }) => [path.replace(/^.*\/(\w+)\.js$/, '$1'), text]));
    expect(ours.length).toBeGreaterThan(25);
    for (const { metric, of } of ours) {
      expect(Object.keys(of)).toEqual(['service']);
      const handler = HANDLERS.find((name) => serviceOf(name) === of.service);
      expect(sources.get(String(handler)), `${metric} of ${of.service}`).toMatch(new RegExp(`\\b${metric}\\b`));
    }
  });

  it('belong to this stack', () => {
    const values = metricsOf(EVERYTHING).flatMap(({ of }) => Object.values(of));
    const others = values.filter(
      (value) =>
        !/^(<.*>|waitstate-\w+|StandardStorage|status|owner|due|[A-Z]\w+(Item|Items|Query)|Query)$/.test(value),
    );
    expect(others).toEqual([]);
  });

  it('count missing data as 0 in sums, so that one missing metric hides no other', () => {
    const sums = alarmsOf(EVERYTHING).flatMap(({ Properties }) =>
      (Properties.Metrics ?? []).flatMap(({ Expression }) => Expression ?? []),
    );
    expect(sums.length).toBeGreaterThan(4);
    for (const sum of sums) expect(sum).toMatch(/^FILL\(m\d,0\)(\+FILL\(m\d,0\))*$/);
  });
});

describe('alarms', () => {
  const names = alarmsOf(DEFAULT).map(({ name }) => name.replace('Alarms/', ''));
  const headingOf = (name: string) => name.replace(/-.*/, '');

  it('cover stuck runs, failures, throttling and approvals that expire soon', () => {
    expect(names).toEqual(
      expect.arrayContaining([
        'OldestReady',
        'DeadLetters',
        'HandlerErrors',
        'HandlerThrottles',
        'TableThrottles',
        'ApprovalsDueSoon',
        'RunFailures',
        'NotifyLag',
      ]),
    );
  });

  it('cover the errors and throttles of each agent, whenever it was added', () => {
    const stack = stackOf();
    const waitstate = withAgents(stack);
    waitstate.addAgent('odd näme/1', { function: functionOf(stack, 'Odd') });
    const template = new StackTemplate(stack);
    for (const [agent, of] of [
      ['refunds', 'Agent-refunds'],
      ['quotes', 'Quotes'],
      ['legacy', 'Legacy'],
      ['odd%20n%C3%A4me%2F1', 'Odd'],
    ])
      for (const [alarm, MetricName] of [
        ['AgentErrors', 'Errors'],
        ['AgentThrottles', 'Throttles'],
      ])
        expect(
          template.plain(template.one('AWS::CloudWatch::Alarm', `Alarms/${alarm}-${agent}`).Properties),
        ).toMatchObject({ MetricName, Dimensions: [{ Name: 'FunctionName', Value: `<${of}>` }] });
    expect(waitstate.alarms.map(({ node }) => `Alarms/${node.id}`).sort()).toEqual(
      alarmsOf(template)
        .map(({ name }) => name)
        .sort(),
    );
  });

  it.each(names)(
    'include %s, which notifies the topic, also on its return to OK, and refers to its heading in the docs',
    (name) => {
      const { AlarmActions, OKActions, AlarmDescription } = DEFAULT.one<AlarmProperties>(
        'AWS::CloudWatch::Alarm',
        `Alarms/${name}`,
      ).Properties;
      expect([AlarmActions, OKActions].map((actions) => DEFAULT.plain(actions))).toEqual([
        ['<AlarmTopic>'],
        ['<AlarmTopic>'],
      ]);
      expect(AlarmDescription).toContain(`See "${headingOf(name)}" in docs/guides/operating.md`);
      const headings = readFileSync(new URL('../../docs/guides/operating.md', import.meta.url), 'utf8').match(
        /^### .*$/gm,
      );
      expect(headings).toContain(`### ${headingOf(name)}`);
    },
  );

  it('have exactly the headings in the docs', () => {
    const page = readFileSync(new URL('../../docs/guides/operating.md', import.meta.url), 'utf8');
    const section = /^## Alarms$(.*?)^## /ms.exec(page)?.[1] ?? '';
    expect([...section.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading).sort()).toEqual(
      [...new Set(names.map(headingOf))].sort(),
    );
  });

  it('allow for a longer interval of the sweeper', () => {
    const stack = stackOf();
    new Waitstate(stack, 'Waitstate', { ...allOptions(stack), sweepEvery: Duration.minutes(10) });
    expect(new StackTemplate(stack).one('AWS::CloudWatch::Alarm', 'Alarms/SweepNotRunning').Properties).toMatchObject({
      Period: 1200,
      Threshold: 1,
      ComparisonOperator: 'LessThanThreshold',
      TreatMissingData: 'breaching',
    });
  });

  it('notify a given topic, and can be turned off', () => {
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

  it('shows each agent, whatever its name', () => {
    const stack = stackOf();
    const waitstate = withAgents(stack);
    waitstate.addAgent('"odd" \\ näme/1', { function: functionOf(stack, 'Odd') });
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

  it('shows runs, approvals, errors and cost', () => {
    expect(widgetsOf(DEFAULT).map(({ properties }) => properties.title)).toEqual([
      'Alarms',
      'Runs by status (counted up to 1,000 each)',
      'Ended runs',
      'Oldest READY (s)',
      'Pending approvals',
      'Oldest approval (s)',
      'Decisions and notifications',
      'Stream lag (ms)',
      'Deliveries and retries',
      'Conflicts and dead letters',
      'API: requests',
      'API: latency (ms, p90)',
      'Handlers: errors, throttles',
      'Table: throttled requests',
      'Cost: DynamoDB units',
      'Cost: function time (ms)',
      'Cost: bucket size (bytes)',
      'Agents: invocations, errors',
      'Agents: duration (ms, p90)',
    ]);
  });

  it('shows the capacity of the table and of each index, which CloudWatch measures separately', () => {
    const [graph] = widgetsOf(DEFAULT).filter(({ properties }) => properties.title === 'Cost: DynamoDB units');
    const rows = (graph?.properties.metrics ?? []).map((row) => row.slice(1, -1).join(' '));
    const expected = ['Write', 'Read'].flatMap((kind) => [
      `Consumed${kind}CapacityUnits TableName <Table>`,
      ...['status', 'owner', 'due'].map(
        (index) => `Consumed${kind}CapacityUnits GlobalSecondaryIndexName ${index} TableName <Table>`,
      ),
    ]);
    expect(rows.toSorted()).toEqual(expected.toSorted());
  });

  it('has no empty graph without agents, which CloudWatch would refuse', () => {
    const stack = stackOf();
    new Waitstate(stack, 'Waitstate');
    const graphs = widgetsOf(new StackTemplate(stack)).filter(({ type }) => type === 'metric');
    expect(graphs.length).toBeGreaterThan(10);
    expect(graphs.filter(({ properties }) => !properties.metrics?.length)).toEqual([]);
  });

  it('can be turned off', () => {
    expect(templateOf(() => ({ dashboard: false })).all('AWS::CloudWatch::Dashboard')).toEqual([]);
  });
});
