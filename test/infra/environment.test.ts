import { User } from 'aws-cdk-lib/aws-iam';
import { describe, expect, it } from 'vitest';
import { HANDLER_SETTINGS } from '../../infra/handlers/handler-functions.ts';
import { Waitstate } from '../../infra/index.ts';
import {
  CHECKPOINT_FUNCTION_VARIABLE,
  ENVIRONMENT,
  type EnvironmentName,
  HANDLERS,
  VARIABLES_BY_HANDLER,
} from '../../lambda/environment/names.ts';
import { readIamCallers, readJwtCallers } from '../../lambda/handlers/caller-maps.ts';
import { readEnvironment } from '../../lambda/handlers/read-environment.ts';
import {
  allOptions,
  ENTRY,
  existingResources,
  functionOf,
  grantAll,
  stackOf,
  templateOf,
  withAgents,
} from './stacks.ts';
import { StackTemplate } from './template.ts';

const DEFAULT = templateOf();
const EVERYTHING = templateOf(allOptions);
const BROUGHT = templateOf(existingResources);

/** What is set for a function, with names instead of references. */
function variablesOf(template: StackTemplate, name: string): Readonly<Record<string, string>> {
  const { Environment } = template.one<{ Environment: { Variables: object } }>(
    'AWS::Lambda::Function',
    name,
  ).Properties;
  return template.plain(Environment.Variables) as Record<string, string>;
}

/** The same as a function would find it. */
const deployed = (template: StackTemplate, name: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(variablesOf(template, name)).map(([key, value]) => [
      key,
      value
        .replaceAll('<AWS::Partition>', 'aws')
        .replaceAll('<AWS::AccountId>', '111122223333')
        .replaceAll('<Ann.Arn>', 'arn:aws:service::111122223333:Ann')
        .replaceAll(/<[^<>]*\.ApiEndpoint>/g, 'https://api.example.com'),
    ]),
  );

/** Those of the names that are ours. */
const oursOf = (template: StackTemplate, name: string) =>
  Object.keys(variablesOf(template, name))
    .filter((each) => each.startsWith('WAITSTATE_'))
    .sort();

/** What is missing where nothing is asked for, because it has a default. */
const OPTIONAL: readonly EnvironmentName[] = [
  ...(['key', 'acceptUnencrypted', 'retentionSeconds', 'jwtCallers', 'corsOrigins'] as const),
];

const namesOf = (who: keyof typeof VARIABLES_BY_HANDLER, without: readonly EnvironmentName[] = []) =>
  VARIABLES_BY_HANDLER[who]
    .filter((name) => !without.includes(name))
    .map((name) => ENVIRONMENT[name])
    .sort();

describe('the environment', () => {
  it.each(HANDLERS)('of %s is all that it reads, and nothing else', (handler) => {
    const { id } = HANDLER_SETTINGS[handler];
    expect(oursOf(EVERYTHING, id)).toEqual(namesOf(handler));
    expect(oursOf(DEFAULT, id)).toEqual(namesOf(handler, OPTIONAL));
    const others = Object.keys(variablesOf(EVERYTHING, id)).filter((each) => !each.startsWith('WAITSTATE_'));
    expect(others).toEqual(['NODE_OPTIONS']);
  });

  it.each(['Agent-refunds', 'Quotes'])('of the agent %s is all that the library reads', (name) => {
    expect(oursOf(EVERYTHING, name)).toEqual(namesOf('agent'));
    expect(oursOf(DEFAULT, name)).toEqual(namesOf('agent', OPTIONAL));
  });

  it('of an agent in another language is the function that it speaks to', () => {
    expect(variablesOf(DEFAULT, 'Legacy')).toEqual({ [CHECKPOINT_FUNCTION_VARIABLE]: '<Checkpoint>' });
  });

  it.each(HANDLERS)('of %s can be read by it', (handler) => {
    for (const template of [DEFAULT, EVERYTHING, BROUGHT])
      expect(() => readEnvironment(handler, deployed(template, HANDLER_SETTINGS[handler].id))).not.toThrow();
  });

  it('names the tenants that are counted', () => {
    expect(readEnvironment('gauge', deployed(EVERYTHING, 'Gauge')).tenants).toEqual(['acme', 'globex']);
    expect(readEnvironment('gauge', deployed(DEFAULT, 'Gauge')).tenants).toEqual(['default']);
  });

  it('names a bus by its ARN where it is brought, since it may be of another account', () => {
    expect(variablesOf(DEFAULT, 'Sweep').WAITSTATE_BUS).toBe('<Bus>');
    expect(variablesOf(BROUGHT, 'Sweep').WAITSTATE_BUS).toBe(
      'arn:<AWS::Partition>:events:<AWS::Region>:<AWS::AccountId>:event-bus/company-bus',
    );
  });
});

describe('agents in it', () => {
  it('are named as they are, whatever they are called', () => {
    const stack = stackOf();
    const hold = withAgents(stack);
    const odd = ['"quoted" \\ back', 'näme/with/slashes', '__proto__', 'emoji 🙂'];
    for (const [at, name] of odd.entries()) hold.addAgent(name, { function: functionOf(stack, `Odd${at}`) });
    hold.addAgent('a.b/c', { entry: ENTRY });
    const agents = readEnvironment('sweep', deployed(new StackTemplate(stack), 'Sweep')).agents;
    expect([...agents]).toEqual([
      ['refunds', { function: '<Agent-refunds>', hydrate: false }],
      ['quotes', { function: '<Quotes>', hydrate: false }],
      ['legacy', { function: '<Legacy>', hydrate: true }],
      ...odd.map((name, at) => [name, { function: `<Odd${at}>`, hydrate: false }]),
      ['a.b/c', { function: '<Agent-a.b%2Fc>', hydrate: false }],
    ]);
  });

  const withMany = (count: number, name = (at: number) => `agent-${at}`) => {
    const stack = stackOf();
    const hold = new Waitstate(stack, 'Waitstate');
    for (let at = 0; at < count; at++) hold.addAgent(name(at), { function: functionOf(stack, `Function${at}`) });
    return stack;
  };

  it('may be many', () => {
    const template = new StackTemplate(withMany(30));
    expect(readEnvironment('resume', deployed(template, 'Resume')).agents.size).toBe(30);
  });

  it('may not be more than Lambda takes, which synthesis says', () => {
    expect(() => new StackTemplate(withMany(80))).toThrow(
      /The environment of Stack\/Waitstate\/Sweep takes about \d{4} bytes, and Lambda takes 4096; WAITSTATE_AGENTS has \d{4} of them\. Give the functions/,
    );
  });

  it('are measured by their bytes, not by their letters', () => {
    const wide = (at: number) => `${'名'.repeat(20)}${at}`;
    expect(() => new StackTemplate(withMany(40, wide))).toThrow('and Lambda takes 4096');
    expect(() => new StackTemplate(withMany(40, (at) => `${'n'.repeat(20)}${at}`))).not.toThrow();
  });
});

describe('callers in it', () => {
  const callersOf = (template: StackTemplate) =>
    readIamCallers(String(deployed(template, 'Api').WAITSTATE_IAM_CALLERS));
  const role = (name: string) => `arn:aws:sts::111122223333:assumed-role/<${name}/ServiceRole>/*`;

  it('are those who were granted something, as what they may be', () => {
    const stack = stackOf();
    grantAll(withAgents(stack), stack);
    expect(callersOf(new StackTemplate(stack))).toEqual({
      [role('Starter')]: { tenant: 'default', roles: ['starter'] },
      [role('Portal')]: { tenant: 'default', roles: ['approver'], answersForOthers: true },
      [role('Reader')]: { tenant: 'default', roles: ['viewer'] },
      [role('Operator')]: { tenant: 'default', roles: ['operator', 'viewer'] },
    });
  });

  it('are one with all that it was granted, in its tenant, beside those that are named', () => {
    const stack = stackOf();
    const hold = withAgents(stack, allOptions(stack));
    const portal = functionOf(stack, 'Portal');
    hold.grantStart(portal, { tenant: 'globex' });
    hold.grantApprove(portal, { tenant: 'globex' });
    hold.grantRead(new User(stack, 'Ann'), { tenant: 'acme' });
    expect(callersOf(new StackTemplate(stack))).toEqual({
      'arn:aws:sts::111122223333:assumed-role/Ops/*': { tenant: 'acme', roles: ['operator'] },
      [role('Portal')]: { tenant: 'globex', roles: ['starter', 'approver'], answersForOthers: true },
      'arn:aws:service::111122223333:Ann': { tenant: 'acme', roles: ['viewer'] },
    });
  });

  it('are nobody where nobody was granted anything', () => {
    expect(callersOf(DEFAULT)).toEqual({});
  });

  it('by JWT are known by the claims that are named', () => {
    expect(readJwtCallers(String(deployed(EVERYTHING, 'Api').WAITSTATE_JWT_CALLERS))).toEqual({
      tenantClaim: 'custom:tenant',
      rolesClaim: 'cognito:groups',
    });
  });
});
