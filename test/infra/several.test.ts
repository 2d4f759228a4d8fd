import { Stack, Stage } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { describe, expect, it } from 'vitest';
import { Waitstate } from '../../infra/index.ts';
import { STACK_OUTPUTS } from '../../lambda/handlers/stack-outputs.ts';
import { permissionsOf } from './permissions.ts';
import { allOptions, ENTRY, functionOf, stackOf, withAgents } from './stacks.ts';
import { StackTemplate, testApp } from './template.ts';

/** Properties that look like names but need not be unique in the account. */
const IGNORED_PROPERTIES =
  /^(DisplayName|PolicyName|StageName|MetricName|DomainName|AWS::ApiGatewayV2::Authorizer Name|AWS::Route53::RecordSet Name)$/;

/** The explicit names in a template with the resource type; CloudFormation generates all others. */
const namesIn = (template: StackTemplate): readonly string[] =>
  Object.values(template.template.Resources).flatMap(({ Type, Properties }) =>
    Object.entries(Properties ?? {}).flatMap(([key, value]) =>
      /Name$/.test(key) &&
      !IGNORED_PROPERTIES.test(key) &&
      !IGNORED_PROPERTIES.test(`${Type} ${key}`) &&
      typeof value === 'string'
        ? [`${Type} ${value}`]
        : [],
    ),
  );

/** The metric namespaces in a template. */
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

  it('write metrics into separate namespaces', () => {
    expect(first.metricsNamespace).toMatch(/^Waitstate\/Stack-Waitstate-\w+$/);
    expect(second.metricsNamespace).toMatch(/^Waitstate\/Stack-Other-\w+$/);
    expect(namespacesIn(template)).toEqual(new Set([first.metricsNamespace, second.metricsNamespace]));
  });

  it('have outputs for the command line: the first with the plain names, the second prefixed with its id', () => {
    const { table, bucket, apiUrl } = STACK_OUTPUTS;
    expect(Object.keys(template.template.Outputs ?? {}).sort()).toEqual(
      [...Object.values(STACK_OUTPUTS), ...[table, bucket, apiUrl].map((name) => `Other${name}`)].sort(),
    );
  });

  it('may have the same id in different scopes', () => {
    const odd = stackOf();
    for (const scope of [odd, new Construct(odd, 'In-here'), new Construct(odd, 'There')])
      new Waitstate(scope, 'My-own');
    const tables = Object.keys(new StackTemplate(odd).template.Outputs ?? {}).filter((name) => name.endsWith('Table'));
    expect(tables.sort()).toEqual(['InhereMyownWaitstateTable', 'ThereMyownWaitstateTable', 'WaitstateTable']);
  });

  it('have no access to each other', () => {
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
    const waitstates = [one, two].map((stack) => withAgents(stack));
    const templates = [one, two].map((stack) => new StackTemplate(stack));
    return { waitstates, templates, names: templates.flatMap(namesIn) };
  };

  it.each<[string, () => [Stack, Stack]]>([
    [
      'two stacks of one app',
      () => {
        const app = testApp();
        return [new Stack(app, 'One'), new Stack(app, 'Two')];
      },
    ],
    [
      'stacks of two stages',
      () => {
        const app = testApp();
        return [new Stack(new Stage(app, 'Test'), 'Stack'), new Stack(new Stage(app, 'Live'), 'Stack')];
      },
    ],
    [
      'stacks of two apps with different names',
      () => [stackOf(testApp(), 'Stack', { stackName: 'one' }), stackOf(testApp(), 'Stack', { stackName: 'two' })],
    ],
  ])('share no name and no namespace, and have the outputs for the command line, if they are %s', (_, stacks) => {
    const { waitstates, templates, names } = both(...stacks());
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(0);
    expect(new Set(waitstates.map(({ metricsNamespace }) => metricsNamespace)).size).toBe(2);
    for (const { template } of templates)
      expect(Object.keys(template.Outputs ?? {}).sort()).toEqual(
        [STACK_OUTPUTS.table, STACK_OUTPUTS.bucket, STACK_OUTPUTS.apiUrl].sort(),
      );
  });
});

describe('a Waitstate', () => {
  it('has a valid metric namespace, whatever its id', () => {
    const stack = stackOf(testApp(), 'Stack', { stackName: 'x'.repeat(120) });
    const { metricsNamespace } = new Waitstate(stack, 'An odd/näme with everything'.repeat(8));
    expect(metricsNamespace).toMatch(/^(?!AWS\/)[\w.\-/#: ]{1,255}$/);
  });
});
