import { Stack, Stage } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { describe, expect, it } from 'vitest';
import { Waitstate } from '../../infra/index.ts';
import { STACK_OUTPUTS } from '../../lambda/handlers/stack-outputs.ts';
import { permissionsOf } from './permissions.ts';
import { allOptions, ENTRY, functionOf, stackOf, withAgents } from './stacks.ts';
import { StackTemplate, testApp } from './template.ts';

/** What is no name in the account: what is shown, what is of a role or an API alone, and what something else is called. */
const NO_NAMES =
  /^(DisplayName|PolicyName|StageName|MetricName|DomainName|AWS::ApiGatewayV2::Authorizer Name|AWS::Route53::RecordSet Name)$/;

/** The names that a template gives, each with the type of what has it; all others are CloudFormation's to choose. */
const namesIn = (template: StackTemplate): readonly string[] =>
  Object.values(template.template.Resources).flatMap(({ Type, Properties }) =>
    Object.entries(Properties ?? {}).flatMap(([key, value]) =>
      /Name$/.test(key) && !NO_NAMES.test(key) && !NO_NAMES.test(`${Type} ${key}`) && typeof value === 'string'
        ? [`${Type} ${value}`]
        : [],
    ),
  );

/** What holds no secret but is shared by all who write to it. */
const namespacesIn = (template: StackTemplate) =>
  new Set(JSON.stringify(template.template).match(/Waitstate\/[\w-]+(?=[\\"])/g));

describe('two Waitstates in one stack', () => {
  const stack = stackOf();
  const [first, second] = [withAgents(stack, allOptions(stack)), new Waitstate(stack, 'Other')];
  second.addAgent('refunds', { entry: ENTRY });
  second.grantRead(functionOf(stack, 'Reader'));
  const template = new StackTemplate(stack);

  it('share no name', () => {
    const names = namesIn(template);
    expect(names).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^AWS::ApiGatewayV2::Api Stack-Waitstate-HttpApi-/),
        expect.stringMatching(/^AWS::ApiGatewayV2::Api Stack-Other-HttpApi-/),
        expect.stringMatching(/^AWS::Events::EventBus Stack-Waitstate-\w+-Bus/),
        expect.stringMatching(/^AWS::Events::EventBus Stack-Other-\w+-Bus/),
      ]),
    );
    expect(new Set(names).size).toBe(names.length);
  });

  it('write their metrics into namespaces of their own', () => {
    expect(first.metricsNamespace).toMatch(/^Waitstate\/Stack-Waitstate-\w+$/);
    expect(second.metricsNamespace).toMatch(/^Waitstate\/Stack-Other-\w+$/);
    expect(namespacesIn(template)).toEqual(new Set([first.metricsNamespace, second.metricsNamespace]));
  });

  it('say where their runs are: the first as the command expects it, the second with its id in front', () => {
    const { table, bucket, apiUrl } = STACK_OUTPUTS;
    expect(Object.keys(template.template.Outputs ?? {}).sort()).toEqual(
      [...Object.values(STACK_OUTPUTS), ...[table, bucket, apiUrl].map((name) => `Other${name}`)].sort(),
    );
  });

  it('may be called anything, and may be called the same in two places', () => {
    const odd = stackOf();
    for (const scope of [odd, new Construct(odd, 'In-here'), new Construct(odd, 'There')])
      new Waitstate(scope, 'My-hold');
    const tables = Object.keys(new StackTemplate(odd).template.Outputs ?? {}).filter((name) => name.endsWith('Table'));
    expect(tables.sort()).toEqual(['InhereMyholdWaitstateTable', 'ThereMyholdWaitstateTable', 'WaitstateTable']);
  });

  it('touch nothing of each other', () => {
    for (const [role, lines] of Object.entries(permissionsOf(template))) {
      const resources = lines.filter((line) => !/^managed | on \*/.test(line));
      expect(resources.length, role).toBeGreaterThan(0);
      for (const line of resources)
        expect(/Other\//.test(line), `${role} ${line}`).toBe(/^(Other|Reader)\//.test(role));
    }
  });
});

describe('Waitstates in two stacks', () => {
  const both = (one: Stack, two: Stack) => {
    const holds = [one, two].map((stack) => withAgents(stack));
    const templates = [one, two].map((stack) => new StackTemplate(stack));
    return { holds, templates, names: templates.flatMap(namesIn) };
  };

  it.each<[string, () => [Stack, Stack]]>([
    [
      'of one app',
      () => {
        const app = testApp();
        return [new Stack(app, 'One'), new Stack(app, 'Two')];
      },
    ],
    [
      'of two stages',
      () => {
        const app = testApp();
        return [new Stack(new Stage(app, 'Test'), 'Stack'), new Stack(new Stage(app, 'Live'), 'Stack')];
      },
    ],
    [
      'of two apps, under two names',
      () => [stackOf(testApp(), 'Stack', { stackName: 'one' }), stackOf(testApp(), 'Stack', { stackName: 'two' })],
    ],
  ])('%s share no name and no namespace, and say where their runs are as the command expects it', (_, stacks) => {
    const { holds, templates, names } = both(...stacks());
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(0);
    expect(new Set(holds.map(({ metricsNamespace }) => metricsNamespace)).size).toBe(2);
    for (const { template } of templates)
      expect(Object.keys(template.Outputs ?? {}).sort()).toEqual(
        [STACK_OUTPUTS.table, STACK_OUTPUTS.bucket, STACK_OUTPUTS.apiUrl].sort(),
      );
  });
});

describe('a Waitstate', () => {
  it('has a namespace that its handlers take, whatever it is called', () => {
    const stack = stackOf(testApp(), 'Stack', { stackName: 'x'.repeat(120) });
    const { metricsNamespace } = new Waitstate(stack, 'An odd/näme with everything'.repeat(8));
    expect(metricsNamespace).toMatch(/^(?!AWS\/)[\w.\-/#: ]{1,255}$/);
  });
});
