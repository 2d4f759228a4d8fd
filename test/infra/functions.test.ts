import { Duration } from 'aws-cdk-lib';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { describe, expect, it } from 'vitest';
import { HANDLER_SETTINGS } from '../../infra/handlers/handler-functions.ts';
import { Waitstate } from '../../infra/index.ts';
import { HANDLERS } from '../../lambda/environment/names.ts';
import { STREAM_FILTERS } from '../../lambda/handlers/stream-filters.ts';
import { DUE_SHARD_COUNT } from '../../lambda/storage/keys.ts';
import { allOptions, ENTRY, existingResources, stackOf, templateOf } from './stacks.ts';
import { StackTemplate } from './template.ts';

const DEFAULT = templateOf();
const EVERYTHING = templateOf(allOptions);

const functionsOf = (template: StackTemplate) =>
  template.all('AWS::Lambda::Function').filter(({ name }) => name !== 'Quotes' && name !== 'Legacy');
const functionOf = (template: StackTemplate, name: string) =>
  template.plain(template.one('AWS::Lambda::Function', name).Properties) as Readonly<Record<string, unknown>>;

describe('every function that Waitstate creates', () => {
  it('runs Node.js 24 on arm64, and logs JSON to its own log group', () => {
    expect(
      functionsOf(DEFAULT)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['Agent-refunds', ...HANDLERS.map((name) => HANDLER_SETTINGS[name].id)].sort());
    for (const { name } of functionsOf(DEFAULT))
      expect(functionOf(DEFAULT, name), name).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        LoggingConfig: { LogFormat: 'JSON', LogGroup: `<${name}Log>` },
        Role: `<${name}Role.Arn>`,
        Environment: { Variables: { NODE_OPTIONS: '--enable-source-maps' } },
      });
  });

  it('runs in the given network, in its own security group or in the given ones', () => {
    expect(functionsOf(EVERYTHING).length).toBe(7);
    for (const { name } of functionsOf(EVERYTHING))
      expect(functionOf(EVERYTHING, name).VpcConfig, name).toEqual({
        SubnetIds: ['subnet-0123456789abcdef1', 'subnet-0123456789abcdef2'],
        SecurityGroupIds: [`<${name}/SecurityGroup.GroupId>`],
      });
    const own = templateOf(existingResources);
    for (const { name } of functionsOf(own))
      expect(functionOf(own, name).VpcConfig, name).toMatchObject({ SecurityGroupIds: ['sg-0123456789abcdef0'] });
  });

  it('is created after its role has network access', () => {
    for (const { name, DependsOn = [] } of functionsOf(EVERYTHING))
      expect(
        DependsOn.map((id) => EVERYTHING.name(id)),
        name,
      ).toContain(`${name}Role/Network`);
  });

  it('is created after every policy of its role, except the one that only its stream needs', () => {
    for (const template of [DEFAULT, EVERYTHING])
      for (const { name, DependsOn = [] } of functionsOf(template)) {
        const policies = template
          .all<{ Roles: readonly unknown[] }>('AWS::IAM::Policy')
          .filter(({ Properties }) => Properties.Roles.some((role) => template.text(role) === `<${name}Role>`))
          .map((policy) => policy.name)
          .filter((policy) => !policy.endsWith('/StreamPolicy'));
        expect(
          DependsOn.map((id) => template.name(id)),
          name,
        ).toEqual(expect.arrayContaining(policies));
        expect(policies.length, name).toBeGreaterThan(0);
      }
  });

  it('has a readable name with the given prefix, and a generated one otherwise', () => {
    const stack = stackOf();
    const waitstate = new Waitstate(stack, 'Waitstate', { functionNamePrefix: 'shop' });
    waitstate.addAgent('refunds/eu', { entry: ENTRY });
    const names = new StackTemplate(stack)
      .all('AWS::Lambda::Function')
      .map(({ Properties }) => Properties.FunctionName);
    expect(names.sort()).toEqual([
      'shop-agent-refunds-2Feu',
      ...['shop-api', 'shop-checkpoint', 'shop-gauge', 'shop-notify', 'shop-resume', 'shop-sweep'],
    ]);
    for (const { Properties } of functionsOf(DEFAULT)) expect(Properties).not.toHaveProperty('FunctionName');
    expect(() => waitstate.addAgent('x'.repeat(60), { entry: ENTRY })).toThrow(
      /at most 64 characters; found "shop-agent-x/,
    );
    expect(() => new Waitstate(stack, 'Other', { functionNamePrefix: 'a b' })).toThrow(/must consist of letters/);
  });

  it('has no network and no reserved concurrency by default', () => {
    for (const { Properties } of functionsOf(DEFAULT)) {
      expect(Properties).not.toHaveProperty('VpcConfig');
      expect(Properties).not.toHaveProperty('ReservedConcurrentExecutions');
    }
  });

  it('has the given reserved concurrency', () => {
    const reserved = functionsOf(EVERYTHING).map(({ name, Properties }) => [
      name,
      Properties.ReservedConcurrentExecutions,
    ]);
    expect(reserved.filter(([, count]) => count !== undefined)).toEqual([
      ['Api', 20],
      ['Resume', 5],
    ]);
  });
});

describe('handlers', () => {
  it.each(HANDLERS)('include %s, with the memory and timeout of its settings', (handler) => {
    const { id, memoryMB, timeoutSeconds } = HANDLER_SETTINGS[handler];
    expect(functionOf(DEFAULT, id)).toMatchObject({
      Handler: `${handler}.handler`,
      MemorySize: memoryMB,
      Timeout: timeoutSeconds,
    });
  });

  it('time out before API Gateway does, after 30 seconds', () => {
    expect(HANDLER_SETTINGS.api.timeoutSeconds).toBeLessThan(30);
  });

  it('share one code asset', () => {
    const codes = HANDLERS.map((name) => JSON.stringify(functionOf(DEFAULT, HANDLER_SETTINGS[name].id).Code));
    expect(new Set(codes).size).toBe(1);
  });
});

describe('the function of an agent from its source', () => {
  it('has a timeout of 15 minutes and a dead-letter queue', () => {
    expect(functionOf(DEFAULT, 'Agent-refunds')).toMatchObject({
      Handler: 'index.handler',
      MemorySize: 512,
      Timeout: 900,
      DeadLetterConfig: { TargetArn: '<DeadLetters.Arn>' },
    });
  });

  it('has the given options', () => {
    const stack = stackOf();
    new Waitstate(stack, 'Waitstate').addAgent('refunds', {
      entry: ENTRY,
      handler: 'other',
      memorySize: 2048,
      timeout: Duration.minutes(3),
      environment: { MODEL: 'large' },
      reservedConcurrency: 7,
    });
    const made = functionOf(new StackTemplate(stack), 'Agent-refunds');
    expect(made).toMatchObject({
      Handler: 'index.other',
      MemorySize: 2048,
      Timeout: 180,
      ReservedConcurrentExecutions: 7,
    });
    expect(made).toMatchObject({ Environment: { Variables: { MODEL: 'large', WAITSTATE_TABLE: '<Table>' } } });
  });
});

describe('logs', () => {
  const logsOf = (template: StackTemplate) =>
    template.all('AWS::Logs::LogGroup').filter(({ name }) => !/^(Quotes|Legacy)\//.test(name));

  it('are kept for three months, including access logs', () => {
    const names = logsOf(DEFAULT).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['ApiLog', 'Agent-refundsLog', 'HttpApi/AccessLog']));
    for (const { name, Properties } of logsOf(DEFAULT)) expect(Properties, name).toMatchObject({ RetentionInDays: 90 });
  });

  it('are encrypted with the given key', () => {
    for (const { name, Properties } of logsOf(EVERYTHING))
      expect(EVERYTHING.plain(Properties), name).toMatchObject({ RetentionInDays: 90, KmsKeyId: '<AtRest.Arn>' });
  });

  it('have the given retention', () => {
    const template = templateOf(() => ({ logRetention: RetentionDays.ONE_WEEK }));
    for (const { name, Properties } of logsOf(template)) expect(Properties, name).toMatchObject({ RetentionInDays: 7 });
  });
});

describe('the stream', () => {
  it.each(['resume', 'notify'] as const)(
    'invokes %s with the filtered records from the beginning, and isolates failing ones',
    (handler) => {
      const { id } = HANDLER_SETTINGS[handler];
      const mapping = DEFAULT.all('AWS::Lambda::EventSourceMapping').find(({ name }) => name.startsWith(`${id}/`));
      expect(DEFAULT.plain(mapping?.Properties)).toEqual({
        EventSourceArn: '<Table.StreamArn>',
        FunctionName: `<${id}>`,
        StartingPosition: 'TRIM_HORIZON',
        FilterCriteria: { Filters: STREAM_FILTERS[handler].map((filter) => ({ Pattern: JSON.stringify(filter) })) },
        BatchSize: 100,
        ParallelizationFactor: 5,
        BisectBatchOnFunctionError: true,
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        ...(handler === 'resume'
          ? { MaximumRetryAttempts: 4, MaximumRecordAgeInSeconds: 3600 }
          : { MaximumRecordAgeInSeconds: 23 * 3600 }),
        DestinationConfig: { OnFailure: { Destination: '<DeadLetters.Arn>' } },
      });
    },
  );

  it('is read from now on if the table existed before, so that old ends of runs are not announced again', () => {
    const own = templateOf(existingResources);
    const positions = own.all('AWS::Lambda::EventSourceMapping').map(({ Properties }) => Properties.StartingPosition);
    expect(positions).toEqual(['LATEST', 'LATEST']);
  });

  it('is read only after the role has permission', () => {
    for (const { name, DependsOn = [] } of DEFAULT.all('AWS::Lambda::EventSourceMapping'))
      expect(DependsOn.map((id) => DEFAULT.name(id))).toContain(`${name.split('/')[0]}/StreamPolicy`);
  });

  it('has no other consumer', () => {
    expect(DEFAULT.all('AWS::Lambda::EventSourceMapping').length).toBe(2);
  });
});

describe('the schedules', () => {
  const rulesOf = (template: StackTemplate) =>
    Object.fromEntries(
      template.all('AWS::Events::Rule').map(({ name, Properties }) => [name, Properties.ScheduleExpression]),
    );

  it('invoke sweep every minute or at the given interval, and gauge every five minutes', () => {
    expect(rulesOf(DEFAULT)).toEqual({
      'Sweep/Schedule': 'rate(1 minute)',
      'Sweep/Collection': 'rate(1 hour)',
      'Gauge/Schedule': 'rate(5 minutes)',
    });
    expect(rulesOf(EVERYTHING)).toMatchObject({ 'Sweep/Schedule': 'rate(2 minutes)' });
  });

  it('give all shards to one sweeper, or split them among several', () => {
    const inputsOf = (template: StackTemplate) =>
      template
        .all<{ Targets: readonly { Input?: string }[] }>('AWS::Events::Rule')
        .filter(({ name }) => name.startsWith('Sweep/Schedule'))
        .flatMap(({ Properties }) => Properties.Targets.map(({ Input = '{}' }) => JSON.parse(Input)));
    expect(inputsOf(DEFAULT)).toEqual([{}]);
    const three = inputsOf(templateOf(() => ({ sweepers: 3 })));
    expect(three.length).toBe(3);
    const shards = three.flatMap((input: { shards: readonly number[] }) => input.shards);
    expect(shards.toSorted((a, b) => a - b)).toEqual(Array.from({ length: DUE_SHARD_COUNT }, (_, shard) => shard));
  });

  it('do not retry missed invocations', () => {
    for (const { name, Properties } of DEFAULT.all('AWS::Events::Rule'))
      expect(DEFAULT.plain(Properties), name).toMatchObject({
        State: 'ENABLED',
        Targets: [
          {
            RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 300 },
            DeadLetterConfig: { Arn: '<DeadLetters.Arn>' },
          },
        ],
      });
    const configs = DEFAULT.all('AWS::Lambda::EventInvokeConfig');
    expect(configs.map(({ Properties }) => DEFAULT.text(Properties.FunctionName)).sort()).toEqual([
      '<Gauge>',
      '<Sweep>',
    ]);
    for (const { Properties } of configs) expect(Properties).toMatchObject({ MaximumRetryAttempts: 0 });
  });
});
