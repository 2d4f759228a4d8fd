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
const EXISTING = templateOf(existingResources);

/** The environment of a function, with names instead of references. */
function variablesOf(template: StackTemplate, name: string): Readonly<Record<string, string>> {
  const { Environment } = template.one<{ Environment: { Variables: object } }>(
    'AWS::Lambda::Function',
    name,
  ).Properties;
  return template.plain(Environment.Variables) as Record<string, string>;
}

/** The environment of a function as it would be deployed. */
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

/** The names of the Waitstate variables of a function. */
const waitstateVariables = (template: StackTemplate, name: string) =>
  Object.keys(variablesOf(template, name))
    .filter((each) => each.startsWith('WAITSTATE_'))
    .sort();

/** Variables that are not set by default. */
const OPTIONAL: readonly EnvironmentName[] = [
  ...(['key', 'acceptUnencrypted', 'retentionSeconds', 'jwtCallers', 'corsOrigins', 'tenants'] as const),
];

const namesOf = (who: keyof typeof VARIABLES_BY_HANDLER, without: readonly EnvironmentName[] = []) =>
  VARIABLES_BY_HANDLER[who]
    .filter((name) => !without.includes(name))
    .map((name) => ENVIRONMENT[name])
    .sort();

describe('the environment of a function', () => {
  it.each(HANDLERS)('has exactly the variables that the handler %s reads', (handler) => {
    const { id } = HANDLER_SETTINGS[handler];
    expect(waitstateVariables(EVERYTHING, id)).toEqual(namesOf(handler));
    expect(waitstateVariables(DEFAULT, id)).toEqual(namesOf(handler, OPTIONAL));
    const others = Object.keys(variablesOf(EVERYTHING, id)).filter((each) => !each.startsWith('WAITSTATE_'));
    expect(others).toEqual(['NODE_OPTIONS']);
  });

  it.each(['Agent-refunds', 'Quotes'])('has exactly the variables that the library reads for the agent %s', (name) => {
    expect(waitstateVariables(EVERYTHING, name)).toEqual(namesOf('agent'));
    expect(waitstateVariables(DEFAULT, name)).toEqual(namesOf('agent', OPTIONAL));
  });

  it('has only the name of the checkpoint function for an agent in another language', () => {
    expect(variablesOf(DEFAULT, 'Legacy')).toEqual({ [CHECKPOINT_FUNCTION_VARIABLE]: '<Checkpoint>' });
  });

  it.each(HANDLERS)('can be parsed by the handler %s', (handler) => {
    for (const template of [DEFAULT, EVERYTHING, EXISTING])
      expect(() => readEnvironment(handler, deployed(template, HANDLER_SETTINGS[handler].id))).not.toThrow();
  });

  it('lists the only tenants of the deployment, or none if it allows any', () => {
    for (const [handler, id] of [
      ['gauge', 'Gauge'],
      ['sweep', 'Sweep'],
    ] as const) {
      expect(readEnvironment(handler, deployed(EVERYTHING, id)).tenants).toEqual(['acme', 'globex']);
      expect(readEnvironment(handler, deployed(DEFAULT, id)).tenants).toBeUndefined();
    }
  });

  it('has the ARN of an existing bus, which may be in another account', () => {
    expect(variablesOf(DEFAULT, 'Sweep').WAITSTATE_BUS).toBe('<Bus>');
    expect(variablesOf(EXISTING, 'Sweep').WAITSTATE_BUS).toBe(
      'arn:<AWS::Partition>:events:<AWS::Region>:<AWS::AccountId>:event-bus/company-bus',
    );
  });
});

describe('the agents in the environment', () => {
  it('may have any name', () => {
    const stack = stackOf();
    const waitstate = withAgents(stack);
    const odd = ['"quoted" \\ back', 'näme/with/slashes', '__proto__', 'emoji 🙂'];
    for (const [at, name] of odd.entries()) waitstate.addAgent(name, { function: functionOf(stack, `Odd${at}`) });
    waitstate.addAgent('a.b/c', { entry: ENTRY });
    const agents = readEnvironment('sweep', deployed(new StackTemplate(stack), 'Sweep')).agents;
    expect([...agents]).toEqual([
      ['refunds', { function: '<Agent-refunds>', hydrate: false }],
      ['quotes', { function: '<Quotes>', hydrate: false }],
      ['legacy', { function: '<Legacy>', hydrate: true }],
      ...odd.map((name, at) => [name, { function: `<Odd${at}>`, hydrate: false }]),
      ['a.b/c', { function: '<Agent-a.b%2Fc>', hydrate: false }],
    ]);
  });

  it('include agents with workers, and the functions that notify their approvers', () => {
    const stack = stackOf();
    const waitstate = new Waitstate(stack, 'Waitstate');
    waitstate.addWorkerAgent('quotes');
    waitstate.addWorkerAgent('orders', { notify: functionOf(stack, 'Mailer'), tenant: 'acme' });
    expect(() => waitstate.addAgent('quotes', { function: functionOf(stack, 'Quotes') })).toThrow(
      'an agent named "quotes" already exists',
    );
    const template = new StackTemplate(stack);
    for (const handler of ['api', 'resume', 'notify', 'sweep'] as const)
      expect([...readEnvironment(handler, deployed(template, HANDLER_SETTINGS[handler].id)).agents]).toEqual([
        ['quotes', { worker: true }],
        ['orders', { worker: true, notify: '<Mailer>', tenants: ['acme'] }],
      ]);
  });

  const withMany = (count: number, name = (at: number) => `agent-${at}`) => {
    const stack = stackOf();
    const waitstate = new Waitstate(stack, 'Waitstate');
    for (let at = 0; at < count; at++) waitstate.addAgent(name(at), { function: functionOf(stack, `Function${at}`) });
    return stack;
  };

  it('fit for 30 agents', () => {
    const template = new StackTemplate(withMany(30));
    expect(readEnvironment('resume', deployed(template, 'Resume')).agents.size).toBe(30);
  });

  it('fail the synthesis if they exceed the limit of Lambda', () => {
    expect(() => new StackTemplate(withMany(80))).toThrow(
      /The environment of Stack\/Waitstate\/Sweep must have at most 4096 bytes; found about \d{4}, \d{4} of them in WAITSTATE_AGENTS\. Shorten the names/,
    );
  });

  it('are measured in bytes, not in characters', () => {
    const wide = (at: number) => `${'名'.repeat(20)}${at}`;
    expect(() => new StackTemplate(withMany(40, wide))).toThrow('must have at most 4096 bytes');
    expect(() => new StackTemplate(withMany(40, (at) => `${'n'.repeat(20)}${at}`))).not.toThrow();
  });
});

describe('the callers in the environment', () => {
  const callersOf = (template: StackTemplate) =>
    readIamCallers(String(deployed(template, 'Api').WAITSTATE_IAM_CALLERS));
  const role = (name: string) => `arn:aws:sts::111122223333:assumed-role/<${name}/ServiceRole>/*`;

  it('are the grantees with their roles', () => {
    const stack = stackOf();
    grantAll(withAgents(stack), stack);
    expect(callersOf(new StackTemplate(stack))).toEqual({
      [role('Starter')]: { tenant: 'default', roles: ['starter'] },
      [role('Portal')]: { tenant: 'default', roles: ['approver'], decidesForOthers: true },
      [role('Worker')]: { tenant: 'default', roles: ['worker'] },
      [role('Reader')]: { tenant: 'default', roles: ['viewer'] },
      [role('Operator')]: { tenant: 'default', roles: ['operator', 'viewer'] },
    });
  });

  it('combine all grants of one caller, and include those of `iamCallers`', () => {
    const stack = stackOf();
    const waitstate = withAgents(stack, allOptions(stack));
    const portal = functionOf(stack, 'Portal');
    waitstate.grantStart(portal, { tenant: 'globex' });
    waitstate.grantApprove(portal, { tenant: 'globex' });
    waitstate.grantRead(new User(stack, 'Ann'), { tenant: 'acme' });
    expect(callersOf(new StackTemplate(stack))).toEqual({
      'arn:aws:sts::111122223333:assumed-role/Ops/*': { tenant: 'acme', roles: ['operator'] },
      [role('Portal')]: { tenant: 'globex', roles: ['starter', 'approver'], decidesForOthers: true },
      'arn:aws:service::111122223333:Ann': { tenant: 'acme', roles: ['viewer'] },
    });
  });

  it('are empty without grants', () => {
    expect(callersOf(DEFAULT)).toEqual({});
  });

  it('include the claims for JWT callers', () => {
    expect(readJwtCallers(String(deployed(EVERYTHING, 'Api').WAITSTATE_JWT_CALLERS))).toEqual({
      tenantClaim: 'custom:tenant',
      rolesClaim: 'cognito:groups',
    });
  });
});
