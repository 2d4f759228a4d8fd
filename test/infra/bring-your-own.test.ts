import { Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import {
  Alias,
  Code,
  type IFunction,
  type IVersion,
  Function as LambdaFunction,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { Bucket, type IBucket } from 'aws-cdk-lib/aws-s3';
import { describe, expect, it } from 'vitest';
import { Waitstate } from '../../infra/index.ts';
import { resolveProps } from '../../infra/resolved-props.ts';
import { newTable } from '../../infra/storage.ts';
import { permissionsOf } from './permissions.ts';
import { existingResources, functionOf, stackOf, withAgents } from './stacks.ts';
import { StackTemplate, testApp } from './template.ts';

function twoStacks() {
  const app = testApp();
  return { one: new Stack(app, 'One'), two: new Stack(app, 'Two') };
}

const variablesOf = (template: StackTemplate, name: string) =>
  template.plain(
    template.one<{ Environment: { Variables: object } }>('AWS::Lambda::Function', name).Properties.Environment
      .Variables,
  );

/** An alias of the current version of a function. */
const aliasOf = (fn: LambdaFunction): IFunction =>
  new Alias(Stack.of(fn), 'Live', { aliasName: 'live', version: fn.currentVersion as IVersion }) as IFunction;

/** The warnings of a stack. */
const warningsIn = (stack: Stack) =>
  stack.node
    .findAll()
    .flatMap(({ node }) => node.metadata.filter(({ type }) => type === 'aws:cdk:warning').map(({ data }) => data));

describe('existing resources', () => {
  const stack = stackOf();
  withAgents(stack, existingResources(stack));
  const template = new StackTemplate(stack);

  it('are used, and no new ones are created', () => {
    for (const type of [
      'DynamoDB::Table',
      'S3::Bucket',
      'Events::EventBus',
      'SNS::Topic',
      'KMS::Key',
      'EC2::SecurityGroup',
    ])
      expect(template.all(`AWS::${type}`), type).toEqual([]);
    expect(variablesOf(template, 'Sweep')).toMatchObject({
      WAITSTATE_TABLE: 'runs',
      WAITSTATE_BUCKET: 'payloads',
      WAITSTATE_TOPIC: 'arn:aws:sns:eu-central-1:111122223333:approvals',
      WAITSTATE_KMS_KEY: 'arn:aws:kms:eu-central-1:111122223333:key/1c2d3e4f-0000-4000-8000-00000000000b',
    });
  });

  it('are the only ones that roles may access', () => {
    const table = 'arn:aws:dynamodb:eu-central-1:111122223333:table/runs';
    const services = ['dynamodb', 's3'].map((each) => `${each}.<AWS::Region>.<AWS::URLSuffix>`).join(' ');
    expect(permissionsOf(template).SweepRole).toEqual(
      [
        `dynamodb:{BatchGetItem,DeleteItem,GetItem,PutItem,Query} on ${table}`,
        `dynamodb:Query on ${table}/index/due [ForAllValues:StringLike dynamodb:LeadingKeys due/*, Null dynamodb:LeadingKeys false]`,
        's3:{AbortMultipartUpload,DeleteObject,GetObject,PutObject} on arn:<AWS::Partition>:s3:::payloads/*',
        's3:ListBucket on arn:<AWS::Partition>:s3:::payloads',
        'events:PutEvents on arn:<AWS::Partition>:events:<AWS::Region>:<AWS::AccountId>:event-bus/company-bus',
        'sns:Publish on arn:aws:sns:eu-central-1:111122223333:approvals',
        `kms:{Decrypt,DescribeKey,Encrypt,GenerateDataKey,ReEncryptFrom,ReEncryptTo} on arn:aws:kms:eu-central-1:111122223333:key/1c2d3e4f-0000-4000-8000-00000000000a [StringEquals kms:ViaService ${services}]`,
        'kms:Decrypt on arn:aws:kms:eu-central-1:111122223333:key/1c2d3e4f-0000-4000-8000-00000000000b',
        ...['Agent-refunds', 'Legacy', 'Quotes'].map((name) => `lambda:InvokeFunction on ${name}`),
        'logs:{CreateLogStream,PutLogEvents} on SweepLog',
        'ec2:{AssignPrivateIpAddresses,CreateNetworkInterface,DeleteNetworkInterface,DescribeNetworkInterfaces,DescribeSubnets,UnassignPrivateIpAddresses} on *',
      ].sort(),
    );
  });

  it('may belong to another stack and have their own keys', () => {
    const { one, two } = twoStacks();
    const bucket = new Bucket(one, 'Payloads', { encryptionKey: new Key(one, 'OfBucket') }) as IBucket;
    withAgents(two, { table: newTable(one, resolveProps({})), bucket, runKey: new Key(one, 'Runs') });
    const lines = permissionsOf(new StackTemplate(two)).SweepRole ?? [];
    expect(lines.filter((line) => line.startsWith('kms:')).length).toBe(2);
    expect(two.dependencies).toEqual([one]);
  });
});

describe('the function of an agent', () => {
  it('is invoked by its ARN if it is imported, with a warning that lists its variables', () => {
    const stack = stackOf();
    const arn = 'arn:aws:lambda:eu-central-1:999922223333:function:quotes';
    const role = Role.fromRoleArn(stack, 'TheirRole', 'arn:aws:iam::111122223333:role/quotes');
    const theirs = LambdaFunction.fromFunctionAttributes(stack, 'Theirs', { functionArn: arn, role });
    new Waitstate(stack, 'Waitstate').addAgent('quotes', { function: theirs });
    const template = new StackTemplate(stack);
    expect(variablesOf(template, 'Resume')).toMatchObject({ WAITSTATE_AGENTS: JSON.stringify({ quotes: arn }) });
    expect(permissionsOf(template).ResumeRole).toContain(`lambda:InvokeFunction on ${arn}`);
    expect(warningsIn(stack)).toEqual([
      'Stack/Theirs is imported, so its environment cannot be set here. Set WAITSTATE_TABLE, WAITSTATE_BUCKET, WAITSTATE_APPROVAL_URL where it is deployed. [ack: waitstate:variables]',
    ]);
  });

  it('may be an alias, which is invoked, while its function gets the environment', () => {
    const stack = stackOf();
    new Waitstate(stack, 'Waitstate').addAgent('quotes', { function: aliasOf(functionOf(stack, 'Quotes')) });
    const template = new StackTemplate(stack);
    expect(variablesOf(template, 'Resume')).toMatchObject({ WAITSTATE_AGENTS: '{"quotes":"<Live>"}' });
    expect(permissionsOf(template).ResumeRole).toContain('lambda:InvokeFunction on Live');
    expect(variablesOf(template, 'Quotes')).toMatchObject({ WAITSTATE_TABLE: '<Table>' });
    expect(warningsIn(stack)).toEqual([]);
  });

  it('may belong to another stack if it has an explicit name, and only that stack depends on this one', () => {
    const { one, two } = twoStacks();
    const quotes = new LambdaFunction(two, 'Quotes', {
      functionName: 'quotes',
      runtime: Runtime.NODEJS_24_X,
      code: Code.fromInline('x'),
      handler: 'index.handler',
    });
    new Waitstate(one, 'Waitstate').addAgent('quotes', { function: quotes });
    const template = new StackTemplate(one);
    const arn = 'arn:<AWS::Partition>:lambda:<AWS::Region>:<AWS::AccountId>:function:quotes';
    expect(variablesOf(template, 'Resume')).toMatchObject({ WAITSTATE_AGENTS: `{"quotes":"${arn}"}` });
    expect(permissionsOf(template).ResumeRole).toContain(`lambda:InvokeFunction on ${arn}`);
    expect([one.dependencies, two.dependencies]).toEqual([[], [one]]);
    expect(Object.keys(Object(variablesOf(new StackTemplate(two), 'Quotes')))).toContain('WAITSTATE_TABLE');
  });

  it('is refused from another stack if it has no explicit name', () => {
    const { one, two } = twoStacks();
    const waitstate = new Waitstate(one, 'Waitstate');
    expect(() => waitstate.addAgent('quotes', { function: functionOf(two, 'Quotes') })).toThrow(
      'One/Waitstate: Two/Quotes is in another stack, and the two stacks would depend on each other. Give it an explicit `functionName`, or create it in this stack.',
    );
    expect(() => waitstate.addAgent('other', { function: aliasOf(functionOf(two, 'Other')) })).toThrow(
      'One/Waitstate: Two/Live is in another stack',
    );
  });
});

describe('a grantee', () => {
  it('may belong to another stack if the role has an explicit name', () => {
    const { one, two } = twoStacks();
    const role = new Role(two, 'Orders', {
      roleName: 'orders',
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    });
    new Waitstate(one, 'Waitstate').grantStart(role);
    const callers = JSON.stringify({
      'arn:<AWS::Partition>:sts::<AWS::AccountId>:assumed-role/orders/*': { tenant: 'default', roles: ['starter'] },
    });
    expect(variablesOf(new StackTemplate(one), 'Api')).toMatchObject({ WAITSTATE_IAM_CALLERS: callers });
    expect([one.dependencies, two.dependencies]).toEqual([[], [one]]);
    expect(permissionsOf(new StackTemplate(two)).Orders).toEqual([
      expect.stringMatching(/^execute-api:Invoke on .*\/POST\/api\/runs$/),
    ]);
  });

  it('is refused from another stack if its role has no explicit name', () => {
    const { one, two } = twoStacks();
    const waitstate = new Waitstate(one, 'Waitstate');
    expect(() => waitstate.grantStart(functionOf(two, 'Orders'))).toThrow(
      'One/Waitstate/HttpApi: Two/Orders/ServiceRole is in another stack, and the two stacks would depend on each other. Give it an explicit `roleName`, or create it in this stack.',
    );
  });

  it('needs no explicit name for access to the storage', () => {
    const { one, two } = twoStacks();
    new Waitstate(one, 'Waitstate').grantStore(functionOf(two, 'Script'));
    expect(permissionsOf(new StackTemplate(two))['Script/ServiceRole']?.length).toBe(4);
    expect([one.dependencies, two.dependencies]).toEqual([[], [one]]);
  });

  it('may be an imported role', () => {
    const stack = stackOf();
    const role = Role.fromRoleArn(stack, 'Ops', 'arn:aws:iam::111122223333:role/teams/Ops');
    new Waitstate(stack, 'Waitstate').grantOperate(role);
    expect(JSON.stringify(variablesOf(new StackTemplate(stack), 'Api'))).toContain(':assumed-role/Ops/*');
  });
});
