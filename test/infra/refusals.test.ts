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

/** What somebody could try, and what they are told. */
function refuses(cases: Readonly<Record<string, readonly [Props, string]>>): void {
  it.each(Object.entries(cases))('refuses %s', (_, [props, said]) => {
    const stack = stackOf();
    expect(() => new Waitstate(stack, 'Waitstate', props(stack))).toThrow(`Stack/Waitstate: ${said}`);
  });
}

function takes(cases: Readonly<Record<string, Props>>): void {
  it.each(Object.entries(cases))('takes %s', (_, props) => {
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
const isOrigin = '`corsOrigins` must be origins such as https://portal.example.com, without a path or *; found';

describe('times and numbers', () => {
  refuses({
    'a retention of nothing': [() => ({ retention: Duration.days(0) }), '`retention` must be whole seconds, from 1 to'],
    'a retention of half a second': [
      () => ({ retention: Duration.millis(500) }),
      '`retention` must be whole seconds, from 1 to 99999999999; found Duration.millis(500). Leave it out for ever.',
    ],
    'a retention of ten thousand years': [() => ({ retention: Duration.days(3_650_000) }), '`retention` must be'],
    'a sweep every 30 seconds': [
      () => ({ sweepEvery: Duration.seconds(30) }),
      '`sweepEvery` must be whole minutes, from 1 to 60; found Duration.seconds(30).',
    ],
    'a sweep every minute and a half': [() => ({ sweepEvery: Duration.seconds(90) }), '`sweepEvery` must be'],
    'a sweep without a pause': [() => ({ sweepEvery: Duration.minutes(0) }), '`sweepEvery` must be'],
    'a sweep every other day': [() => ({ sweepEvery: Duration.days(2) }), '`sweepEvery` must be'],
    'no sweepers': [() => ({ sweepers: 0 }), '`sweepers` must be a whole number, 1 or more, 8 at most; found 0.'],
    'nine sweepers': [() => ({ sweepers: 9 }), '`sweepers` must be'],
    'a rate of nothing': [() => ({ throttleRate: 0 }), '`throttleRate` must be a whole number, 1 or more; found 0.'],
    'a burst of one and a half': [() => ({ throttleBurst: 1.5 }), '`throttleBurst` must be'],
    'less concurrency than none': [
      () => ({ reservedConcurrency: { api: -1 } }),
      '`reservedConcurrency.api` must be a whole number, 0 or more; found -1.',
    ],
  });
  takes({
    'the least of everything': () => ({
      ...{ retention: Duration.seconds(1), sweepEvery: Duration.minutes(1), sweepers: 1 },
      ...{ throttleRate: 1, throttleBurst: 1, reservedConcurrency: { resume: 0 } },
    }),
    'the most of what has one': () => ({
      sweepEvery: Duration.hours(1),
      sweepers: 8,
      retention: Duration.days(365_000),
    }),
  });
});

describe('tenants', () => {
  refuses({
    'a list of none': [() => ({ tenants: [] }), '`tenants` must name one at least; leave it out to have any.'],
    'callers by JWT of another': [
      () => ({ tenants: ['globex'], jwt }),
      'a tenant must be one of globex; found "acme" for callers. Add it to `tenants`.',
    ],
    'callers by IAM of another': [
      () => ({ tenants: ['globex'], iamCallers: { 'arn:aws:sts::111122223333:assumed-role/Ops/*': ops } }),
      'a tenant must be one of globex; found "acme" for callers.',
    ],
    'more than a policy has room for': [
      () => ({ tenants: Array.from({ length: 100 }, (_, at) => `tenant-${at}`) }),
      '`tenants` names 100, more than a policy of IAM has room for.',
    ],
  });
  takes({
    'any text': () => ({ tenants: ['a/b', 'Zürich', '日本', '*'] }),
    'callers of one of them': () => ({ tenants: ['acme'], jwt }),
  });

  it('without a name are refused', () => {
    expect(() => new Waitstate(stackOf(), 'Waitstate', { tenants: [''] })).toThrow('The tenant id must be text');
  });

  it('that a policy cannot say are refused where runs are sealed', () => {
    const stack = stackOf();
    const runKey = new Key(stack, 'Runs');
    expect(() => new Waitstate(stack, 'One', { tenants: ['日本'], runKey })).toThrow(
      'Where runs are sealed, a tenant must be of letters that a policy of IAM can have, up to ÿ and without ${; found "日本".',
    );
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a variable of a policy.
    expect(() => new Waitstate(stack, 'Two', { tenants: ['${aws:username}'], runKey })).toThrow('without ${');
    expect(() => new Waitstate(stack, 'Three', { tenants: ['Zürich'], runKey })).not.toThrow();
  });

  it('cannot be granted that are not in the list', () => {
    const stack = stackOf();
    const hold = new Waitstate(stack, 'Waitstate', { tenants: ['acme', 'globex'] });
    const said = 'Stack/Waitstate: a tenant must be one of acme, globex; found "other". Add it to `tenants`.';
    expect(() => hold.grantRead(functionOf(stack, 'Reader'), { tenant: 'other' })).toThrow(said);
    expect(() => hold.addAgent('a', { function: functionOf(stack, 'A'), tenant: 'other' })).toThrow(said);
    expect(() => hold.addAgent('b', { function: functionOf(stack, 'B'), tenant: 'other', hydrate: true })).toThrow(
      said,
    );
  });

  it('cannot be two for one caller', () => {
    const stack = stackOf();
    const hold = new Waitstate(stack, 'Waitstate');
    const portal = functionOf(stack, 'Portal');
    hold.grantRead(portal, { tenant: 'acme' });
    expect(() => hold.grantApprove(portal, { tenant: 'globex' })).toThrow(
      'Stack/Waitstate/HttpApi: a caller has one tenant; found "acme" and "globex" for one role. Use a role for each tenant.',
    );
  });
});

describe('callers', () => {
  refuses({
    'an issuer without TLS': [
      () => ({ jwt: { ...jwt, issuer: 'http://issuer.example.com' } }),
      '`jwt.issuer` must be a URL that begins with https://; found http://issuer.example.com.',
    ],
    'an issuer without a protocol': [() => ({ jwt: { ...jwt, issuer: 'issuer.example.com' } }), '`jwt.issuer` must be'],
    'tokens for nobody': [() => ({ jwt: { ...jwt, audience: [] } }), '`jwt.audience` must name one at least'],
    'a name instead of an ARN': [
      () => ({ iamCallers: { Ops: ops } }),
      '`iamCallers` must be named by ARNs; found "Ops".',
    ],
    'the ARN of a role, which never calls': [
      () => ({ iamCallers: { 'arn:aws:iam::111122223333:role/Ops': ops } }),
      '`iamCallers` must name a role as it calls, such as arn:aws:sts::111122223333:assumed-role/Ops/*; found',
    ],
    'every origin': [() => ({ corsOrigins: ['*'] }), `${isOrigin} *.`],
    'an origin with a slash behind it': [
      () => ({ corsOrigins: ['https://portal.example.com/'] }),
      `${isOrigin} https://portal.example.com/.`,
    ],
    'two origins in one text': [() => ({ corsOrigins: ['https://a.example.com,https://b.example.com'] }), isOrigin],
  });
  takes({
    'an issuer with a slash behind it, as some have': () => ({ jwt }),
    'a user by IAM': () => ({ iamCallers: { 'arn:aws:iam::111122223333:user/ann': ops } }),
    'a user of the same app': (stack) => ({ iamCallers: { [new User(stack, 'Ann').userArn]: ops } }),
    'an origin with a port': () => ({ corsOrigins: ['http://localhost:5173'] }),
  });

  it('are roles or users', () => {
    const stack = stackOf();
    const hold = new Waitstate(stack, 'Waitstate');
    const said = (found: string) =>
      `Stack/Waitstate/HttpApi: permission is given to a role, a user, or what has a role; found ${found}. Name others in`;
    expect(() => hold.grantStart(new ServicePrincipal('events.amazonaws.com'))).toThrow(
      said('ServicePrincipal(events.amazonaws.com)'),
    );
    const arn = 'arn:aws:lambda:eu-central-1:111122223333:function:portal';
    expect(() => hold.grantStart(LambdaFunction.fromFunctionArn(stack, 'Portal', arn))).toThrow(
      said('something imported without its role'),
    );
  });

  it('from other sites are none where the list of origins is empty', () => {
    const stack = stackOf();
    new Waitstate(stack, 'Waitstate', { corsOrigins: [] });
    expect(JSON.stringify(new StackTemplate(stack).template)).not.toMatch(/CorsConfiguration|WAITSTATE_CORS_ORIGINS/);
  });
});

describe('a domain', () => {
  refuses({
    'without a certificate': [
      () => ({ domainName: 'approvals.example.com' }),
      'the domain approvals.example.com needs a certificate. Give `certificate`.',
    ],
    'that is only a certificate': [
      (stack) => ({ certificate: certificate(stack) }),
      'a certificate or zone is for a domain. Give `domainName`, too.',
    ],
    'that is only a zone': [(stack) => ({ hostedZone: zone(stack) }), 'a certificate or zone is for a domain.'],
    'that is a URL': [
      (stack) => ({ domainName: 'https://approvals.example.com', certificate: certificate(stack) }),
      '`domainName` must be a name such as approvals.example.com; found https://approvals.example.com.',
    ],
    'of another zone': [
      (stack) => ({ domainName: 'approvals.anexample.com', certificate: certificate(stack), hostedZone: zone(stack) }),
      '`domainName` must be in the zone example.com; found approvals.anexample.com.',
    ],
  });
  takes({
    'that is the zone itself': (stack) => ({
      domainName: 'example.com',
      certificate: certificate(stack),
      hostedZone: zone(stack),
    }),
  });
});

describe('what is brought', () => {
  refuses({
    'a choice for a table that is made': [
      (stack) => ({ ...existingResources(stack), deletionProtection: true }),
      '`deletionProtection` is for a table that is made here, not yours.',
    ],
    'versions of a bucket that is there': [
      (stack) => ({ ...existingResources(stack), versioned: true }),
      '`versioned` is for a bucket that is made here, not yours.',
    ],
    'access logs of a bucket that is there': [
      (stack) => ({ ...existingResources(stack), accessLogBucket: Bucket.fromBucketName(stack, 'Logs', 'logs') }),
      '`accessLogBucket` is for a bucket that is made here, not yours.',
    ],
    'a topic for alarms that are off': [
      (stack) => ({ ...existingResources(stack), alarms: false }),
      '`alarmTopic` is for alarms, and there are none.',
    ],
    'subnets without a network': [
      (stack) => ({ vpcSubnets: { subnets: vpcOf(stack).privateSubnets } }),
      '`vpcSubnets` and `securityGroups` are for a network. Give `vpc`, too.',
    ],
  });

  it('needs a stream, if it is a table', () => {
    const said =
      'Stack/Waitstate/Resume: the table needs a stream of new and old images, and this one says none. Turn it on, and import the table with';
    const stack = stackOf();
    const partitionKey = { name: 'pk', type: AttributeType.STRING };
    const table = new Table(stack, 'Runs', { partitionKey }) as ITable;
    expect(() => new Waitstate(stack, 'Waitstate', { table })).toThrow(said);
    const other = stackOf();
    const imported = Table.fromTableName(other, 'Runs', 'runs');
    expect(() => new Waitstate(other, 'Waitstate', { table: imported })).toThrow(said);
  });
});

describe('an agent', () => {
  it('has a name of its own', () => {
    const stack = stackOf();
    const hold = new Waitstate(stack, 'Waitstate');
    hold.addAgent('refunds', { function: functionOf(stack, 'One') });
    expect(() => hold.addAgent('refunds', { function: functionOf(stack, 'Two') })).toThrow(
      'Stack/Waitstate: there is an agent "refunds" already. Each has a name of its own.',
    );
    expect(() => hold.addAgent('', { entry: ENTRY })).toThrow('The agent id must be text of at least one character');
  });

  it('has a source that is there', () => {
    const hold = new Waitstate(stackOf(), 'Waitstate');
    expect(() => hold.addAgent('refunds', { entry: 'agents/refunds.ts' })).toThrow(
      'Cannot find entry file at agents/refunds.ts',
    );
  });
});
