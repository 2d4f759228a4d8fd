import { Duration, type Stack } from 'aws-cdk-lib';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { AttributeType, type ITable, Table } from 'aws-cdk-lib/aws-dynamodb';
import { ServicePrincipal, User } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { HostedZone } from 'aws-cdk-lib/aws-route53';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { describe, expect, it } from 'vitest';
import { Waitstate, type WaitstateProps } from '../../infra/index.ts';
import { ENTRY, existingResources, functionOf, stackOf, vpcOf } from './stacks.ts';
import { StackTemplate } from './template.ts';

type Props = (stack: Stack) => WaitstateProps;

/** Declares one test for each set of props that the construct refuses, with the expected message. */
function refuses(cases: Readonly<Record<string, readonly [Props, string]>>): void {
  it.each(Object.entries(cases))('are refused with %s', (_, [props, message]) => {
    const stack = stackOf();
    expect(() => new Waitstate(stack, 'Waitstate', props(stack))).toThrow(`Stack/Waitstate: ${message}`);
  });
}

function accepts(cases: Readonly<Record<string, Props>>): void {
  it.each(Object.entries(cases))('are accepted with %s', (_, props) => {
    const stack = stackOf();
    expect(() => new Waitstate(stack, 'Waitstate', props(stack))).not.toThrow();
  });
}

const certificate = (stack: Stack) =>
  Certificate.fromCertificateArn(stack, 'Certificate', 'arn:aws:acm:eu-central-1:111122223333:certificate/c');
const zone = (stack: Stack) =>
  HostedZone.fromHostedZoneAttributes(stack, 'Zone', { hostedZoneId: 'Z1', zoneName: 'example.com' });
const jwt = { issuer: 'https://issuer.example.com/', audience: ['portal'], tenant: 'acme', rolesClaim: 'roles' };
const ops = { tenant: 'acme', roles: ['operator'] } as const;
const originMessage = '`corsOrigins` must be origins such as https://portal.example.com, without a path or *; found';

describe('durations and numbers in props', () => {
  refuses({
    'a retention of 0': [() => ({ retention: Duration.days(0) }), '`retention` must be whole seconds, from 1 to'],
    'a retention of half a second': [
      () => ({ retention: Duration.millis(500) }),
      '`retention` must be whole seconds, from 1 to 3162240000 (100 years); found Duration.millis(500). Omit it to keep runs forever.',
    ],
    'a retention of more than 100 years': [() => ({ retention: Duration.days(36_601) }), '`retention` must be'],
    'a sweep every 30 seconds': [
      () => ({ sweepEvery: Duration.seconds(30) }),
      '`sweepEvery` must be whole minutes, from 1 to 60; found Duration.seconds(30).',
    ],
    'a sweep every minute and a half': [() => ({ sweepEvery: Duration.seconds(90) }), '`sweepEvery` must be'],
    'a sweep every 0 minutes': [() => ({ sweepEvery: Duration.minutes(0) }), '`sweepEvery` must be'],
    'a sweep every other day': [() => ({ sweepEvery: Duration.days(2) }), '`sweepEvery` must be'],
    '0 sweepers': [() => ({ sweepers: 0 }), '`sweepers` must be a whole number from 1 to 8; found 0.'],
    '9 sweepers': [() => ({ sweepers: 9 }), '`sweepers` must be'],
    'a rate of 0': [() => ({ throttleRate: 0 }), '`throttleRate` must be a whole number of at least 1; found 0.'],
    'a burst of 1.5': [() => ({ throttleBurst: 1.5 }), '`throttleBurst` must be'],
    'a negative concurrency': [
      () => ({ reservedConcurrency: { api: -1 } }),
      '`reservedConcurrency.api` must be a whole number of at least 0; found -1.',
    ],
  });
  accepts({
    'the lower limits': () => ({
      retention: Duration.seconds(1),
      sweepEvery: Duration.minutes(1),
      sweepers: 1,
      throttleRate: 1,
      throttleBurst: 1,
      reservedConcurrency: { resume: 0 },
    }),
    'the upper limits': () => ({
      sweepEvery: Duration.hours(1),
      sweepers: 8,
      retention: Duration.days(36_600),
    }),
  });
});

describe('tenants in props', () => {
  refuses({
    'an empty list': [() => ({ tenants: [] }), '`tenants` must list at least one tenant. Omit it to allow any tenant.'],
    'JWT callers of another tenant': [
      () => ({ tenants: ['globex'], jwt }),
      'the tenant of a caller must be one of globex; found "acme". Add it to `tenants`.',
    ],
    'IAM callers of another tenant': [
      () => ({ tenants: ['globex'], iamCallers: { 'arn:aws:sts::111122223333:assumed-role/Ops/*': ops } }),
      'the tenant of a caller must be one of globex; found "acme".',
    ],
    'more tenants than fit into a policy': [
      () => ({ tenants: Array.from({ length: 100 }, (_, at) => `tenant-${at}`) }),
      '`tenants` must fit into one IAM policy; found 100 tenants',
    ],
  });
  accepts({
    'any characters': () => ({ tenants: ['a/b', 'Zürich', '日本', '*'] }),
    'callers of a listed tenant': () => ({ tenants: ['acme'], jwt }),
  });

  it('must not be empty', () => {
    expect(() => new Waitstate(stackOf(), 'Waitstate', { tenants: [''] })).toThrow('The tenant id must be text');
  });

  it('must consist of characters that an IAM policy accepts, if runs are encrypted', () => {
    const stack = stackOf();
    const runKey = new Key(stack, 'Runs');
    expect(() => new Waitstate(stack, 'One', { tenants: ['日本'], runKey })).toThrow(
      'With `runKey`, a tenant must consist of characters that an IAM policy accepts, from space to ÿ and without ${; found "日本".',
    );
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a variable of a policy.
    expect(() => new Waitstate(stack, 'Two', { tenants: ['${aws:username}'], runKey })).toThrow('without ${');
    expect(() => new Waitstate(stack, 'Three', { tenants: ['Zürich'], runKey })).not.toThrow();
  });

  it('must be listed to be granted access', () => {
    const stack = stackOf();
    const waitstate = new Waitstate(stack, 'Waitstate', { tenants: ['acme', 'globex'] });
    const message = 'Stack/Waitstate: a tenant must be one of acme, globex; found "other". Add it to `tenants`.';
    expect(() => waitstate.grantRead(functionOf(stack, 'Reader'), { tenant: 'other' })).toThrow(message);
    expect(() => waitstate.addAgent('a', { function: functionOf(stack, 'A'), tenant: 'other' })).toThrow(message);
    expect(() => waitstate.addAgent('b', { function: functionOf(stack, 'B'), tenant: 'other', hydrate: true })).toThrow(
      message,
    );
  });

  it('are limited to one for each caller', () => {
    const stack = stackOf();
    const waitstate = new Waitstate(stack, 'Waitstate');
    const portal = functionOf(stack, 'Portal');
    waitstate.grantRead(portal, { tenant: 'acme' });
    expect(() => waitstate.grantApprove(portal, { tenant: 'globex' })).toThrow(
      'Stack/Waitstate/HttpApi: a caller has one tenant; found "acme" and "globex" for one role. Use one role per tenant.',
    );
  });
});

describe('callers in props', () => {
  refuses({
    'an issuer without TLS': [
      () => ({ jwt: { ...jwt, issuer: 'http://issuer.example.com' } }),
      '`jwt.issuer` must be a URL that starts with https://; found http://issuer.example.com.',
    ],
    'an issuer without a protocol': [() => ({ jwt: { ...jwt, issuer: 'issuer.example.com' } }), '`jwt.issuer` must be'],
    'an empty audience': [() => ({ jwt: { ...jwt, audience: [] } }), '`jwt.audience` must list at least one client'],
    'a name instead of an ARN': [
      () => ({ iamCallers: { Ops: ops } }),
      'the keys of `iamCallers` must be ARNs; found "Ops".',
    ],
    'the ARN of a role instead of its sessions': [
      () => ({ iamCallers: { 'arn:aws:iam::111122223333:role/Ops': ops } }),
      '`iamCallers` must list a role by its session ARN, such as arn:aws:sts::111122223333:assumed-role/Ops/*; found',
    ],
    'a wildcard origin': [() => ({ corsOrigins: ['*'] }), `${originMessage} *.`],
    'an origin with a trailing slash': [
      () => ({ corsOrigins: ['https://portal.example.com/'] }),
      `${originMessage} https://portal.example.com/.`,
    ],
    'two origins in one text': [
      () => ({ corsOrigins: ['https://a.example.com,https://b.example.com'] }),
      originMessage,
    ],
  });
  accepts({
    'an issuer with a trailing slash': () => ({ jwt }),
    'an IAM user': () => ({ iamCallers: { 'arn:aws:iam::111122223333:user/ann': ops } }),
    'a user of the same app': (stack) => ({ iamCallers: { [new User(stack, 'Ann').userArn]: ops } }),
    'an origin with a port': () => ({ corsOrigins: ['http://localhost:5173'] }),
  });

  it('must be roles or users', () => {
    const stack = stackOf();
    const waitstate = new Waitstate(stack, 'Waitstate');
    const message = (found: string) =>
      `Stack/Waitstate/HttpApi: the grantee must be a role, a user, or a resource with a role; found ${found}. List other callers in`;
    expect(() => waitstate.grantStart(new ServicePrincipal('events.amazonaws.com'))).toThrow(
      message('ServicePrincipal(events.amazonaws.com)'),
    );
    const arn = 'arn:aws:lambda:eu-central-1:111122223333:function:portal';
    expect(() => waitstate.grantStart(LambdaFunction.fromFunctionArn(stack, 'Portal', arn))).toThrow(
      message('a resource imported without its role'),
    );
  });

  it('cannot send cross-site requests if the list of origins is empty', () => {
    const stack = stackOf();
    new Waitstate(stack, 'Waitstate', { corsOrigins: [] });
    expect(JSON.stringify(new StackTemplate(stack).template)).not.toMatch(/CorsConfiguration|WAITSTATE_CORS_ORIGINS/);
  });
});

describe('domains in props', () => {
  refuses({
    'a domain without a certificate': [
      () => ({ domainName: 'approvals.example.com' }),
      'the domain approvals.example.com requires a certificate. Set `certificate`.',
    ],
    'a certificate without a domain': [
      (stack) => ({ certificate: certificate(stack) }),
      '`certificate` and `hostedZone` require a domain. Set `domainName`, too.',
    ],
    'a zone without a domain': [
      (stack) => ({ hostedZone: zone(stack) }),
      '`certificate` and `hostedZone` require a domain.',
    ],
    'a URL': [
      (stack) => ({ domainName: 'https://approvals.example.com', certificate: certificate(stack) }),
      '`domainName` must be a name such as approvals.example.com; found https://approvals.example.com.',
    ],
    'a domain of another zone': [
      (stack) => ({ domainName: 'approvals.anexample.com', certificate: certificate(stack), hostedZone: zone(stack) }),
      '`domainName` must be in the zone example.com; found approvals.anexample.com.',
    ],
  });
  accepts({
    'the domain of the zone itself': (stack) => ({
      domainName: 'example.com',
      certificate: certificate(stack),
      hostedZone: zone(stack),
    }),
  });
});

describe('resources in props', () => {
  refuses({
    'deletion protection of an existing table': [
      (stack) => ({ ...existingResources(stack), deletionProtection: true }),
      '`deletionProtection` is an option of the table that Waitstate creates. Set it on your own table instead.',
    ],
    'versioning of an existing bucket': [
      (stack) => ({ ...existingResources(stack), versioned: true }),
      '`versioned` is an option of the bucket that Waitstate creates. Set it on your own bucket instead.',
    ],
    'access logs of an existing bucket': [
      (stack) => ({ ...existingResources(stack), accessLogBucket: Bucket.fromBucketName(stack, 'Logs', 'logs') }),
      '`accessLogBucket` is an option of the bucket that Waitstate creates. Set it on your own bucket instead.',
    ],
    'an alarm topic without alarms': [
      (stack) => ({ ...existingResources(stack), alarms: false }),
      '`alarmTopic` receives alarms, and `alarms` is false. Remove one of them.',
    ],
    'subnets without a network': [
      (stack) => ({ vpcSubnets: { subnets: vpcOf(stack).privateSubnets } }),
      '`vpcSubnets` and `securityGroups` require a network. Set `vpc`, too.',
    ],
  });

  it('must include a stream if they include a table', () => {
    const message =
      'Stack/Waitstate/Resume: the table must have a stream of new and old images; found none. Turn it on, and import the table with';
    const stack = stackOf();
    const partitionKey = { name: 'pk', type: AttributeType.STRING };
    const table = new Table(stack, 'Runs', { partitionKey }) as ITable;
    expect(() => new Waitstate(stack, 'Waitstate', { table })).toThrow(message);
    const other = stackOf();
    const imported = Table.fromTableName(other, 'Runs', 'runs');
    expect(() => new Waitstate(other, 'Waitstate', { table: imported })).toThrow(message);
  });
});

describe('an agent', () => {
  it('must have a unique name', () => {
    const stack = stackOf();
    const waitstate = new Waitstate(stack, 'Waitstate');
    waitstate.addAgent('refunds', { function: functionOf(stack, 'One') });
    expect(() => waitstate.addAgent('refunds', { function: functionOf(stack, 'Two') })).toThrow(
      'Stack/Waitstate: an agent named "refunds" already exists. Give each agent a different name.',
    );
    expect(() => waitstate.addAgent('', { entry: ENTRY })).toThrow(
      'The agent id must be text of at least one character',
    );
  });

  it('must have a source file that exists', () => {
    const waitstate = new Waitstate(stackOf(), 'Waitstate');
    expect(() => waitstate.addAgent('refunds', { entry: 'agents/refunds.ts' })).toThrow(
      'Cannot find entry file at agents/refunds.ts',
    );
  });
});
