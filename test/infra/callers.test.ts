import type { Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { describe, expect, it } from 'vitest';
import { Waitstate } from '../../infra/index.ts';
import { permissionsOf } from './permissions.ts';
import { ENTRY, functionOf, stackOf } from './stacks.ts';
import { StackTemplate } from './template.ts';

const roleOf = (stack: Stack, id: string) =>
  new Role(stack, id, { assumedBy: new ServicePrincipal('lambda.amazonaws.com'), roleName: id });

const variables = (stack: Stack, ending: string): Readonly<Record<string, unknown>> => {
  const template = new StackTemplate(stack);
  const found = template
    .all<{ Handler: string; Environment: { Variables: object } }>('AWS::Lambda::Function')
    .find(({ Properties }) => Properties.Handler === ending);
  return template.plain(found?.Properties.Environment.Variables ?? {}) as Readonly<Record<string, unknown>>;
};

const callersIn = (stack: Stack) => JSON.parse(String(variables(stack, 'api.handler').WAITSTATE_IAM_CALLERS));

const warnings = (stack: Stack): readonly unknown[] =>
  stack.node
    .findAll()
    .flatMap(({ node }) => node.metadata.filter(({ type }) => type === 'aws:cdk:warning').map(({ data }) => data));

describe('the tenant of a caller', () => {
  it('must be given if there are several', () => {
    const stack = stackOf();
    const waitstate = new Waitstate(stack, 'Waitstate', { tenants: ['acme', 'globex'] });
    const role = roleOf(stack, 'Orders');
    for (const grant of ['grantStart', 'grantApprove', 'grantRead', 'grantOperate'] as const)
      expect(() => waitstate[grant](role)).toThrow(
        'Stack/Waitstate: a tenant must be one of acme, globex, because a caller has one tenant; found none. Pass { tenant }.',
      );
    waitstate.grantStart(role, { tenant: 'globex' });
    expect(Object.values(callersIn(stack))).toMatchObject([{ tenant: 'globex' }]);
  });

  it('is the only one of the Waitstate, or "default" if any is allowed', () => {
    const [one, any] = [stackOf(), stackOf()];
    new Waitstate(one, 'Waitstate', { tenants: ['acme'] }).grantRead(roleOf(one, 'Board'));
    new Waitstate(any, 'Waitstate').grantRead(roleOf(any, 'Board'));
    expect(Object.values(callersIn(one))).toMatchObject([{ tenant: 'acme' }]);
    expect(Object.values(callersIn(any))).toMatchObject([{ tenant: 'default' }]);
  });
});

describe('an IAM caller', () => {
  it('may name the requesters of the runs that it starts only if its grant says so', () => {
    const stack = stackOf();
    const waitstate = new Waitstate(stack, 'Waitstate');
    waitstate.grantStart(roleOf(stack, 'Orders'));
    waitstate.grantStart(roleOf(stack, 'Shop'), { forOthers: true });
    expect(Object.values(callersIn(stack))).toEqual([
      { tenant: 'default', roles: ['starter'] },
      { tenant: 'default', roles: ['starter'], startsForOthers: true },
    ]);
  });

  it('is refused from another account, which an HTTP API does not support', () => {
    const stack = stackOf(undefined, 'Stack', { env: { account: '111122223333', region: 'eu-central-1' } });
    const theirs = Role.fromRoleArn(stack, 'Theirs', 'arn:aws:iam::999922223333:role/orders');
    expect(() => new Waitstate(stack, 'Waitstate').grantStart(theirs)).toThrow(
      'arn:aws:iam::999922223333:role/orders is in another account, and an HTTP API accepts no roles of other accounts.',
    );
  });

  it('has the roles of its grant rather than those of a matching pattern', () => {
    const stack = stackOf();
    const pattern = 'arn:aws:sts::111122223333:assumed-role/App*/*';
    const waitstate = new Waitstate(stack, 'Waitstate', {
      iamCallers: { [pattern]: { tenant: 'acme', roles: ['operator'] } },
    });
    waitstate.grantRead(roleOf(stack, 'AppGlobex'), { tenant: 'globex' });
    const arns = Object.keys(callersIn(stack));
    expect(arns.map((arn) => arn.split('/')[1])).toEqual(['<AppGlobex>', 'App*']);
  });
});

describe('retired keys', () => {
  it('decrypt what was written under them and encrypt nothing', () => {
    const stack = stackOf();
    const [now, before] = [new Key(stack, 'Now') as IKey, new Key(stack, 'Before') as IKey];
    new Waitstate(stack, 'Waitstate', { encryptionKey: now, retiredEncryptionKeys: [before] });
    const lines = permissionsOf(new StackTemplate(stack)).SweepRole ?? [];
    expect(lines.filter((line) => line.includes('on Before'))).toEqual([
      'kms:{Decrypt,DescribeKey} on Before [StringEquals kms:ViaService dynamodb.<AWS::Region>.<AWS::URLSuffix> s3.<AWS::Region>.<AWS::URLSuffix>]',
    ]);
  });
});

describe('the variables of an agent', () => {
  it('include its own Node.js options', () => {
    const stack = stackOf();
    const environment = { NODE_OPTIONS: '--max-old-space-size=400', MODEL: 'small' };
    new Waitstate(stack, 'Waitstate').addAgent('refunds', { entry: ENTRY, environment });
    expect(variables(stack, 'index.handler')).toMatchObject({
      NODE_OPTIONS: '--max-old-space-size=400 --enable-source-maps',
      MODEL: 'small',
      WAITSTATE_TABLE: '<Table>',
    });
  });

  it('must not include those that Waitstate sets', () => {
    const waitstate = new Waitstate(stackOf(), 'Waitstate');
    expect(() => waitstate.addAgent('a', { entry: ENTRY, environment: { WAITSTATE_TABLE: 'mine' } })).toThrow(
      'Waitstate sets WAITSTATE_TABLE. Remove it from `environment` of agent "a".',
    );
  });

  it('are set with a warning if the timeout of the function is only seconds', () => {
    const stack = stackOf();
    const waitstate = new Waitstate(stack, 'Waitstate');
    const code = { runtime: Runtime.NODEJS_24_X, code: Code.fromInline('x'), handler: 'short.handler' };
    waitstate.addAgent('short', { function: new LambdaFunction(stack, 'Short', code) });
    waitstate.addAgent('long', { function: functionOf(stack, 'Long') });
    expect(warnings(stack)).toEqual([
      'Stack/Short times out after 3 seconds, so a step that takes longer never completes. Give the function of an agent a timeout of several minutes. [ack: waitstate:timeout]',
    ]);
  });
});
