import { type App, Duration, Stack, type StackProps } from 'aws-cdk-lib';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { UserPool, UserPoolClient } from 'aws-cdk-lib/aws-cognito';
import { Table } from 'aws-cdk-lib/aws-dynamodb';
import { SecurityGroup, Vpc } from 'aws-cdk-lib/aws-ec2';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { HostedZone } from 'aws-cdk-lib/aws-route53';
import { Bucket, type IBucket } from 'aws-cdk-lib/aws-s3';
import { Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { cognitoIssuer, type TenantOptions, Waitstate, type WaitstateProps } from '../../infra/index.ts';
import { StackTemplate, testApp } from './template.ts';

/** A stack in a new app, or in the given one. */
export const stackOf = (app: App = testApp(), id = 'Stack', props: StackProps = {}): Stack => new Stack(app, id, props);

/** The source of an agent. */
export const ENTRY = 'examples/refunds/agent.ts';

/** A function of a user. */
export const functionOf = (scope: Construct, id: string, runtime = Runtime.NODEJS_24_X): LambdaFunction =>
  new LambdaFunction(scope, id, {
    runtime,
    code: Code.fromInline('x'),
    handler: 'index.handler',
    timeout: Duration.minutes(5),
  });

const AGENTS = ['refunds', 'quotes', 'legacy'] as const;

/** A Waitstate with an agent of each kind: from source, with a function, and with hydrated runs. */
export function withAgents(
  stack: Stack,
  props: WaitstateProps = {},
  names: readonly (typeof AGENTS)[number][] = AGENTS,
): Waitstate {
  const waitstate = new Waitstate(stack, 'Waitstate', props);
  if (names.includes('refunds')) waitstate.addAgent('refunds', { entry: ENTRY });
  if (names.includes('quotes')) waitstate.addAgent('quotes', { function: functionOf(stack, 'Quotes') });
  if (names.includes('legacy'))
    waitstate.addAgent('legacy', { function: functionOf(stack, 'Legacy', Runtime.PYTHON_3_14), hydrate: true });
  return waitstate;
}

type PropsOf = (stack: Stack) => WaitstateProps;

const noProps: PropsOf = () => ({});
const templates = new Map<PropsOf, StackTemplate>();

/** The template of a stack with a Waitstate and all agents. It is synthesized once for each `props`. */
export function templateOf(props = noProps): StackTemplate {
  const known = templates.get(props);
  if (known) return known;
  const stack = stackOf();
  withAgents(stack, props(stack));
  const template = new StackTemplate(stack);
  templates.set(props, template);
  return template;
}

/** Creates a function for each grant method of a Waitstate. */
export function grantAll(waitstate: Waitstate, stack: Stack, options: TenantOptions = {}): void {
  waitstate.grantStart(functionOf(stack, 'Starter'), options);
  waitstate.grantApprove(functionOf(stack, 'Portal'), options);
  waitstate.grantWork(functionOf(stack, 'Worker'), options);
  waitstate.grantRead(functionOf(stack, 'Reader'), options);
  waitstate.grantOperate(functionOf(stack, 'Operator'), options);
  waitstate.grantStore(functionOf(stack, 'Storer'), options);
  waitstate.grantAdminister(functionOf(stack, 'Administrator'), options);
}

/** Props with all options turned on. */
export function allOptions(stack: Stack): WaitstateProps {
  const pool = UserPool.fromUserPoolId(stack, 'People', 'eu-central-1_Abc');
  const client = UserPoolClient.fromUserPoolClientId(stack, 'App', 'portal');
  return {
    retention: Duration.days(90),
    tenants: ['acme', 'globex'],
    versioned: true,
    accessLogBucket: new Bucket(stack, 'AccessLogs', { enforceSSL: true, serverAccessLogsPrefix: 'own/' }) as IBucket,
    encryptionKey: new Key(stack, 'AtRest', { enableKeyRotation: true }),
    runKey: new Key(stack, 'Runs', { enableKeyRotation: true }),
    acceptUnencrypted: true,
    retiredRunKeys: [new Key(stack, 'OldRuns', { enableKeyRotation: true })],
    vpc: vpcOf(stack),
    reservedConcurrency: { api: 20, resume: 5 },
    sweepEvery: Duration.minutes(2),
    iamCallers: { 'arn:aws:sts::111122223333:assumed-role/Ops/*': { tenant: 'acme', roles: ['operator'] } },
    jwt: {
      ...cognitoIssuer(pool, [client]),
      tenantClaim: 'custom:tenant',
      rolesClaim: 'cognito:groups',
    },
    corsOrigins: ['https://portal.example.com', 'https://other.example.com'],
    throttleRate: 10,
    throttleBurst: 20,
    domainName: 'approvals.example.com',
    certificate: Certificate.fromCertificateArn(
      stack,
      'Certificate',
      'arn:aws:acm:eu-central-1:111122223333:certificate/c',
    ),
    hostedZone: HostedZone.fromHostedZoneAttributes(stack, 'Zone', { hostedZoneId: 'Z1', zoneName: 'example.com' }),
  };
}

/** An existing network, described without a lookup in an account. */
export const vpcOf = (stack: Stack) =>
  Vpc.fromVpcAttributes(stack, 'Network', {
    vpcId: 'vpc-0123456789abcdef0',
    availabilityZones: ['eu-central-1a', 'eu-central-1b'],
    privateSubnetIds: ['subnet-0123456789abcdef1', 'subnet-0123456789abcdef2'],
    privateSubnetRouteTableIds: ['rtb-0123456789abcdef1', 'rtb-0123456789abcdef2'],
  });

/** Props with existing resources. */
export const existingResources = (stack: Stack): WaitstateProps => ({
  table: Table.fromTableAttributes(stack, 'MyTable', {
    tableArn: 'arn:aws:dynamodb:eu-central-1:111122223333:table/runs',
    tableStreamArn: 'arn:aws:dynamodb:eu-central-1:111122223333:table/runs/stream/2026-01-01T00:00:00.000',
  }),
  bucket: Bucket.fromBucketName(stack, 'MyBucket', 'payloads'),
  bus: EventBus.fromEventBusName(stack, 'MyBus', 'company-bus'),
  topic: Topic.fromTopicArn(stack, 'MyTopic', 'arn:aws:sns:eu-central-1:111122223333:approvals'),
  alarmTopic: Topic.fromTopicArn(stack, 'MyAlarms', 'arn:aws:sns:eu-central-1:111122223333:alarms'),
  encryptionKey: Key.fromKeyArn(
    stack,
    'MyKey',
    'arn:aws:kms:eu-central-1:111122223333:key/1c2d3e4f-0000-4000-8000-00000000000a',
  ),
  runKey: Key.fromKeyArn(
    stack,
    'MyRunKey',
    'arn:aws:kms:eu-central-1:111122223333:key/1c2d3e4f-0000-4000-8000-00000000000b',
  ),
  vpc: vpcOf(stack),
  securityGroups: [SecurityGroup.fromSecurityGroupId(stack, 'MyGroup', 'sg-0123456789abcdef0')],
});
