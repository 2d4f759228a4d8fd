import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CloudFormationClient,
  CloudFormationServiceException,
  ListStackResourcesCommand,
  type ResourceStatus,
  type StackResourceSummary,
} from '@aws-sdk/client-cloudformation';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { DeleteObjectsCommand, ListObjectsV2Command, ListObjectVersionsCommand, S3Client } from '@aws-sdk/client-s3';
import { mockClient } from 'aws-sdk-client-mock';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ExampleStack } from '../../infra/example-stack.ts';
import { ENVIRONMENT } from '../../lambda/environment/names.ts';
import { type IamCaller, identifyFromAuthorizer } from '../../lambda/http/authorizer-caller.ts';
import { s3Client } from '../engines/engines.ts';
import { StackTemplate, testApp } from '../infra/template.ts';
import { awsCloud } from './aws/aws-cloud.ts';
import { emptyBucket } from './aws/empty-bucket.ts';
import { runProgram } from './aws/program.ts';
import { operatorsOf } from './caller.ts';
import { fakeAws } from './fake-aws.ts';
import { ENVIRONMENT as KEYS } from './rehearsal.ts';

const { signal } = new AbortController();

describe('the caller of the integration test', () => {
  it.each([
    'arn:aws:sts::111122223333:assumed-role/Admin/me@example.com',
    'arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_Admin_0123456789abcdef/ann',
    'arn:aws:iam::111122223333:user/ann',
    'arn:aws:iam::111122223333:user/ops/ann',
    'arn:aws-us-gov:iam::111122223333:user/ann',
  ])('may operate the deployed app as %s', (arn) => {
    const stack = new ExampleStack(testApp(), 'Integ', {
      operators: operatorsOf(arn),
      disposable: true,
      env: { account: '111122223333', region: 'eu-west-1' },
    });
    const template = new StackTemplate(stack);
    const { Environment } = template.one<{ Environment: { Variables: Record<string, unknown> } }>(
      'AWS::Lambda::Function',
      'Api',
    ).Properties;
    const text = template.text(Environment.Variables[ENVIRONMENT.iamCallers]).replaceAll('<AWS::Partition>', 'aws');
    const identify = identifyFromAuthorizer({ iam: JSON.parse(text) as Record<string, IamCaller> });
    const callerOf = (userArn: string) =>
      identify(new Request('https://api.example/'), { requestContext: { authorizer: { iam: { userArn } } } });
    expect(callerOf(arn)).toMatchObject({
      tenant: 'default',
      roles: new Set(['operator', 'approver']),
      decidesForOthers: true,
    });
    expect(callerOf(arn.replace(/\/[^/]+$/, '/somebody-else').replace('Admin', 'Other'))).toEqual(undefined);
  });

  it.each(['arn:aws:iam::111122223333:root', 'arn:aws:sts::111122223333:federated-user/ann', ''])(
    'is refused as %j, which the API cannot identify or CDK cannot deploy with',
    (arn) => expect(() => operatorsOf(arn)).toThrow(/Run this as an IAM role or user.*Assume a role/),
  );
});

describe('a disposable stack', () => {
  it('has no resource that outlives it', () => {
    const { template } = new StackTemplate(new ExampleStack(testApp(), 'Integ', { disposable: true }));
    const kept = Object.entries(template.Resources).filter(
      ([, { DeletionPolicy = 'Delete' }]) => DeletionPolicy !== 'Delete',
    );
    expect(kept).toEqual([]);
    expect(new StackTemplate(new ExampleStack(testApp(), 'Integ')).one('AWS::S3::Bucket').DeletionPolicy).toBe(
      'Retain',
    );
  });
});

describe('the AWS cloud', () => {
  /** Mocks a stack with these resources, or none. */
  function stackOf(resources: readonly StackResourceSummary[] | undefined) {
    for (const [name, value] of Object.entries(KEYS)) vi.stubEnv(name, value);
    const stacks = mockClient(CloudFormationClient);
    const lambda = mockClient(LambdaClient);
    onTestFinished(() => {
      vi.unstubAllEnvs();
      for (const client of [stacks, lambda]) client.restore();
    });
    const listing = stacks.on(ListStackResourcesCommand);
    if (resources) listing.resolves({ StackResourceSummaries: [...resources] });
    else listing.rejects(new CloudFormationServiceException({ ...FAULT, message: 'Stack with id it does not exist' }));
    return { cloud: awsCloud({ line: () => {} }), stacks, lambda };
  }
  const FAULT = { name: 'ValidationError', $fault: 'client', $metadata: {} } as const;
  const of = (ResourceType: string, LogicalResourceId: string, ResourceStatus: ResourceStatus = 'CREATE_COMPLETE') => ({
    ResourceType,
    LogicalResourceId,
    PhysicalResourceId: `the-${LogicalResourceId}`,
    ResourceStatus,
    LastUpdatedTimestamp: new Date(),
  });
  const SWEEP = of('AWS::Lambda::Function', 'WaitstateSweep42C7B4CB');

  it('lists a stack and its remaining resources until it is deleted', async () => {
    const existing = stackOf([SWEEP, of('AWS::S3::Bucket', 'WaitstateBucket00000000', 'DELETE_COMPLETE')]);
    expect(await existing.cloud.left('it')).toEqual([
      { type: 'AWS::CloudFormation::Stack', name: 'it' },
      { type: 'AWS::Lambda::Function', name: 'the-WaitstateSweep42C7B4CB' },
    ]);
    expect(await stackOf(undefined).cloud.left('it')).toEqual([]);
    const refused = stackOf([]);
    const denied = new CloudFormationServiceException({ ...FAULT, message: 'Access denied' });
    refused.stacks.on(ListStackResourcesCommand).rejects(denied);
    await expect(refused.cloud.left('it')).rejects.toThrow('Access denied');
  });

  it('does nothing when it empties a stack that does not exist or has no bucket', async () => {
    await stackOf(undefined).cloud.empty('it', signal);
    await stackOf([SWEEP]).cloud.empty('it', signal);
  });

  it('returns the result of a function, and names one that failed or is missing', async () => {
    const other = of('AWS::Lambda::Function', 'WaitstateSweepLog42C7B4CB');
    const { cloud, lambda } = stackOf([SWEEP, other]);
    lambda.on(InvokeCommand, { FunctionName: SWEEP.PhysicalResourceId }).resolves(invocationResult('{"failed":0}'));
    expect(await cloud.invoke('it', 'sweep')).toEqual({ failed: 0 });
    await expect(cloud.invoke('it', 'gauge')).rejects.toThrow(
      'one AWS::Lambda::Function named WaitstateGauge…; found none',
    );
    lambda.on(InvokeCommand).resolves({ ...invocationResult('{"errorType":"Error"}'), FunctionError: 'Unhandled' });
    await expect(cloud.invoke('it', 'sweep')).rejects.toThrow(/WaitstateSweep42C7B4CB failed: \{"errorType"/);
    await expect(stackOf(undefined).cloud.invoke('it', 'sweep')).rejects.toThrow('The stack it does not exist.');
  });

  it('counts dead letters in the queue of the stack', async () => {
    const { url } = await fakeAws({ s3: s3Client(), names: {}, deadLetters: 3 });
    const { cloud } = stackOf([of('AWS::SQS::Queue', 'WaitstateDeadLetters00000000')]);
    vi.stubEnv('AWS_ENDPOINT_URL_SQS', url);
    expect(await cloud.deadLetters('it')).toBe(3);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'another');
    await expect(awsCloud({ line: () => {} }).deadLetters('it')).rejects.toThrow(/could not be counted: 403/);
  });

  it.each([
    [true, true],
    [false, false],
    ['access denied', true],
  ] as const)(
    'finds the bootstrap of an account missing only if AWS says so, and %j means %j',
    async (isBootstrapped, expected) => {
      const { url } = await fakeAws({ s3: s3Client(), names: {}, isBootstrapped });
      const { cloud } = stackOf([]);
      vi.stubEnv('AWS_ENDPOINT_URL_SSM', url);
      expect(await cloud.isBootstrapped()).toBe(expected);
    },
  );
});

const invocationResult = (text: string) => ({
  Payload: Object.assign(new TextEncoder().encode(text), { transformToString: () => text }),
});

describe('emptying a bucket', () => {
  it('removes all versions, page by page', async () => {
    const client = mockClient(S3Client);
    onTestFinished(() => client.restore());
    const pages = [
      {
        Versions: [
          { Key: 'a', VersionId: '1' },
          { Key: 'a', VersionId: '2' },
        ],
        DeleteMarkers: [{ Key: 'b', VersionId: '3' }],
      },
      { Versions: [{ Key: 'c', VersionId: '4' }] },
    ];
    client.on(ListObjectsV2Command).resolves({});
    client.on(ListObjectVersionsCommand).callsFake(() => pages.shift() ?? {});
    client.on(DeleteObjectsCommand).resolves({});
    await emptyBucket(new S3Client({}), 'it', signal);
    const removed = client.commandCalls(DeleteObjectsCommand).map(({ args: [{ input }] }) => input.Delete?.Objects);
    expect(removed).toEqual([
      [
        { Key: 'a', VersionId: '1' },
        { Key: 'a', VersionId: '2' },
        { Key: 'b', VersionId: '3' },
      ],
      [{ Key: 'c', VersionId: '4' }],
    ]);
  });

  it('reports an object that cannot be removed instead of retrying forever', async () => {
    const client = mockClient(S3Client);
    onTestFinished(() => client.restore());
    client.on(ListObjectsV2Command).resolves({ Contents: [{ Key: 'a' }] });
    client.on(DeleteObjectsCommand).resolves({ Errors: [{ Key: 'a', Code: 'AccessDenied', Message: 'no' }] });
    await expect(emptyBucket(new S3Client({}), 'it', signal)).rejects.toThrow(
      'a in it could not be removed: AccessDenied no',
    );
  });

  it('does nothing if the bucket does not exist', async () => {
    await expect(emptyBucket(s3Client(), 'a-missing-bucket', signal)).resolves.toBeUndefined();
  });
});

describe('a child program', () => {
  function program(text: string): string {
    const folder = mkdtempSync(join(tmpdir(), 'waitstate-integ-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'program.mjs'), text);
    return join(folder, 'program.mjs');
  }

  it('reports its output by line, has the given environment, and returns its exit code', async () => {
    const lines: string[] = [];
    const file = program('console.log(process.argv[2]); console.error(process.env.INTEG_TEST); process.exit(3);');
    const running = { signal, environment: { INTEG_TEST: 'given' }, line: (text: string) => void lines.push(text) };
    expect(await runProgram(file, ['one'], running)).toBe(3);
    expect(lines.toSorted()).toEqual(['given', 'one']);
  });

  it('is ended with all its child processes when the signal aborts', async () => {
    const stop = new AbortController();
    const file = program(
      "import { spawn } from 'node:child_process'; const { pid } = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']); console.log(pid); setInterval(() => {}, 1000);",
    );
    let below = 0;
    const line = (text: string): void => {
      below = Number(text);
      stop.abort(new Error('stopped'));
    };
    await expect(runProgram(file, [], { signal: stop.signal, environment: {}, line })).rejects.toThrow('stopped');
    await vi.waitFor(() => expect(() => process.kill(below, 0)).toThrow(/ESRCH/), { timeout: 10_000 });
    await expect(runProgram(file, [], { signal: stop.signal, environment: {}, line })).rejects.toThrow('stopped');
  });
});
