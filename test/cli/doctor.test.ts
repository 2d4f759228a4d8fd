import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { CreateTableCommand, ScanCommand, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import { ListMultipartUploadsCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { checkNode } from '../../cli/commands/doctor/check-node.ts';
import { clockFinding } from '../../cli/commands/doctor/clock-skew.ts';
import type { Finding } from '../../cli/commands/doctor/finding.ts';
import { permissionFinding } from '../../cli/commands/doctor/permissions.ts';
import { doctor } from '../../cli/commands/doctor.ts';
import { writeServerFile } from '../../cli/dev/server/server-file.ts';
import { processTerminal } from '../../cli/terminal/process-terminal.ts';
import { STACK_OUTPUTS } from '../../lambda/handlers/stack-outputs.ts';
import { STREAM, TABLE } from '../../lambda/storage/dynamodb/table.ts';
import { dynamoClient, freshBucket, freshTable, s3Client } from '../engines/engines.ts';
import { travelIn } from './agents.ts';
import { fakeCloudFormation } from './fake-cloud-formation.ts';
import { engineEnvironment } from './on-aws.ts';
import { runProcess } from './process.ts';
import { freshFolder, type RunOptions, run } from './scene.ts';
import { servedFolder } from './served-folder.ts';

afterEach(() => void vi.unstubAllEnvs());

/** Runs the doctor and returns its findings. */
async function examine(running: RunOptions = {}, ...args: string[]) {
  const { code, json } = await run(['doctor', '--json', ...args], running);
  const findings = json() as unknown as readonly Finding[];
  return { code, findings, of: (check: string) => findings.find((finding) => finding.check === check) };
}

/** Starts a local HTTP server that is closed after the test. */
async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

describe('waitstate doctor on a folder', () => {
  it('finds no problem, but warns that no server is running', async () => {
    const folder = freshFolder();
    await travelIn(folder).start({ to: 'Rome' });
    const { code, findings } = await examine({ env: { WAITSTATE_FOLDER: folder } });
    expect(code).toBe(0);
    expect(findings.map(({ check, status }) => [check, status])).toEqual([
      ['node', 'ok'],
      ['target', 'ok'],
      ['folder', 'ok'],
      ['disk', 'ok'],
      ['store', 'ok'],
      ['notifications', 'ok'],
      ['server', 'warn'],
    ]);
    expect(findings.at(4)?.found).toContain('1 run of tenant "default"');
  });

  it('prints a problem and how to fix it', async () => {
    const file = join(freshFolder(), 'file');
    writeFileSync(file, '');
    const { code, out } = await run(['doctor', '--folder', file], { columns: 60 });
    expect(code).toBe(1);
    expect(out).toContain('is a file');
    expect(stripVTControlCharacters(out).replace(/\s+/g, ' ')).toContain(
      'Move the file, or choose another folder with --folder.',
    );
    expect(out).toContain('1 problem.');
  });

  it('leaves no files in a folder, and creates no folder', async () => {
    const parent = freshFolder();
    const { code, of } = await examine({}, '--folder', join(parent, 'a/b'));
    expect([code, of('folder')?.status]).toEqual([0, 'warn']);
    expect(readdirSync(parent)).toEqual([]);
    await examine({}, '--folder', parent);
    expect(readdirSync(parent)).toEqual([]);
  });

  it('finds a folder that cannot be created or is not writable', async () => {
    const parent = freshFolder();
    writeFileSync(join(parent, 'file'), '');
    const below = await examine({}, '--folder', join(parent, 'file/below'));
    expect([below.code, below.of('folder')?.status]).toEqual([1, 'fail']);
    // Root can write anywhere.
    if (process.getuid?.() === 0) return;
    mkdirSync(join(parent, 'closed'));
    chmodSync(join(parent, 'closed'), 0o500);
    const closed = await examine({}, '--folder', join(parent, 'closed'));
    expect(closed.of('folder')).toMatchObject({ status: 'fail', found: expect.stringContaining('is not writable') });
  });

  it('finds a store that does not open', async () => {
    const folder = freshFolder();
    writeFileSync(join(folder, 'records.sqlite'), randomBytes(8192));
    const { code, of } = await examine({}, '--folder', folder);
    expect(code).toBe(1);
    expect(of('store')).toMatchObject({ status: 'fail', fix: expect.stringContaining('Restore') });
  });

  it('finds a server that does not respond', async () => {
    const folder = freshFolder();
    const url = await listening((_, response) => response.writeHead(401).end());
    using _ = await servedFolder(folder);
    const file = { key: 'k'.repeat(43), pid: process.pid };
    await writeServerFile(folder, { ...file, url, port: Number(new URL(url).port) });
    expect((await examine({}, '--folder', folder)).of('server')).toMatchObject({ status: 'ok' });
    await writeServerFile(folder, { ...file, url: 'http://127.0.0.1:9', port: 9 });
    expect((await examine({}, '--folder', folder)).of('server')).toMatchObject({
      status: 'fail',
      fix: expect.stringContaining('Stop that process'),
    });
  });
});

describe('the Node version check of waitstate doctor', () => {
  it.each([
    ['24.1.0', 'ok'],
    ['22.15.0', 'ok'],
    ['22.14.9', 'fail'],
    ['20.19.0', 'fail'],
  ])('rates %s as %s', (version, status) => {
    expect(checkNode(version).status).toBe(status);
  });

  it('exits with code 1 if Node is too old', async () => {
    const terminal = { ...processTerminal(), print: () => {} };
    const targetOptions = { folder: freshFolder() };
    expect(
      await doctor({ terminal, targetOptions, isJson: false, openTarget: () => Promise.reject() }, '20.19.0'),
    ).toBe(1);
  });
});

describe('waitstate doctor on AWS', () => {
  /** Creates a table and a bucket, and sets the environment. */
  async function setUp(change: NodeJS.ProcessEnv = {}) {
    const env = {
      ...engineEnvironment(),
      WAITSTATE_TABLE: await freshTable(),
      WAITSTATE_BUCKET: await freshBucket(),
      ...change,
    };
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    return env;
  }

  it('finds table, bucket and permissions, and warns if the table has no stream', async () => {
    const env = await setUp();
    const { code, findings } = await examine({ env });
    expect(findings.filter(({ status }) => status !== 'ok').map(({ check }) => check)).toEqual(['stream']);
    expect(findings.map(({ check }) => check)).toEqual([
      ...[
        'node',
        'target',
        'region',
        'credentials',
        'table',
        'stream',
        'time to live',
        'table access',
        'due index',
        'clock',
        'bucket',
        'bucket access',
        'notifications',
      ],
    ]);
    expect(code).toBe(0);
  });

  it('changes nothing in the table and the bucket', async () => {
    const env = await setUp();
    await examine({ env });
    const { Items } = await dynamoClient().send(new ScanCommand({ TableName: env.WAITSTATE_TABLE }));
    expect(Items).toEqual([]);
    const { Contents = [] } = await s3Client().send(new ListObjectsV2Command({ Bucket: env.WAITSTATE_BUCKET }));
    const { Uploads = [] } = await s3Client().send(new ListMultipartUploadsCommand({ Bucket: env.WAITSTATE_BUCKET }));
    expect([Contents, Uploads]).toEqual([[], []]);
  });

  it('reads one byte of a payload of the tenant, and nothing of other tenants', async () => {
    const env = await setUp();
    for (const Key of ['acme/run/payload', 'globex/run/payload'])
      await s3Client().send(new PutObjectCommand({ Bucket: env.WAITSTATE_BUCKET, Key, Body: 'content' }));
    const { of } = await examine({ env }, '--tenant', 'acme');
    expect(of('bucket access')).toMatchObject({ status: 'ok', found: expect.stringContaining('GetObject') });
  });

  it('finds the stream that durable runs need', async () => {
    const TableName = `with-stream-${randomBytes(4).toString('hex')}`;
    await dynamoClient().send(new CreateTableCommand({ TableName, ...TABLE, StreamSpecification: STREAM }));
    const env = await setUp({ WAITSTATE_TABLE: TableName });
    expect((await examine({ env })).of('stream')).toMatchObject({ status: 'ok' });
  });

  it('warns if the time to live is off, or on for another attribute', async () => {
    const TableName = `lasting-${randomBytes(4).toString('hex')}`;
    await dynamoClient().send(new CreateTableCommand({ TableName, ...TABLE }));
    const env = await setUp({ WAITSTATE_TABLE: TableName });
    const off = await examine({ env });
    expect([off.code, off.of('time to live')]).toEqual([
      0,
      {
        ...{ check: 'time to live', status: 'warn', found: 'it is off' },
        fix: expect.stringMatching(/^Turn it on for the attribute "x".*links.*not deleted/),
      },
    ]);
    const TimeToLiveSpecification = { AttributeName: 'ttl', Enabled: true };
    await dynamoClient().send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
    expect((await examine({ env })).of('time to live')).toMatchObject({
      status: 'warn',
      found: 'it is on for the attribute "ttl"',
      fix: expect.stringMatching(/^Turn that off\. Turn it on for the attribute "x"/),
    });
  });

  it('finds that a table is missing or has other keys', async () => {
    const env = await setUp({ WAITSTATE_TABLE: 'no-such-table' });
    const missing = await examine({ env });
    expect(missing.code).toBe(1);
    expect(missing.of('table')).toMatchObject({ status: 'fail', found: 'table "no-such-table" does not exist' });

    const other = `other-${randomBytes(4).toString('hex')}`;
    await dynamoClient().send(
      new CreateTableCommand({
        ...{ TableName: other, BillingMode: 'PAY_PER_REQUEST' },
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      }),
    );
    const wrong = await examine({ env: { ...env, WAITSTATE_TABLE: other } });
    expect(wrong.of('table')?.found).toBe(`"${other}" must have the key pk, sk; found id`);

    const bare = `bare-${randomBytes(4).toString('hex')}`;
    const { KeySchema, BillingMode, AttributeDefinitions, GlobalSecondaryIndexes } = TABLE;
    await dynamoClient().send(
      new CreateTableCommand({
        ...{ TableName: bare, KeySchema, BillingMode },
        AttributeDefinitions: AttributeDefinitions.filter(({ AttributeName }) => !/^d[go]$/.test(AttributeName)),
        GlobalSecondaryIndexes: GlobalSecondaryIndexes.filter(({ IndexName }) => IndexName !== 'due'),
      }),
    );
    const without = await examine({ env: { ...env, WAITSTATE_TABLE: bare } });
    expect(without.of('table')).toMatchObject({ status: 'fail', found: 'index "due" is missing' });
  });

  it('finds that a bucket is missing', async () => {
    const env = await setUp({ WAITSTATE_BUCKET: 'no-such-bucket-of-ours' });
    const { code, of } = await examine({ env });
    expect(code).toBe(1);
    expect(of('bucket')).toMatchObject({ status: 'fail', found: 'bucket "no-such-bucket-of-ours" does not exist' });
    expect(of('bucket access')).toBeUndefined();
  });

  it('finds a clock that is wrong', async () => {
    const env = await setUp();
    const ahead = await examine({ env, now: () => Date.now() + 10 * 60_000 });
    expect(ahead.code).toBe(1);
    expect(ahead.of('clock')).toMatchObject({
      status: 'fail',
      found: expect.stringMatching(/^(10m|9m 59s).* ahead of AWS$/),
    });
    expect((await examine({ env, now: () => Date.now() - 60_000 })).of('clock')).toMatchObject({ status: 'warn' });
    expect(clockFinding({ aheadMs: undefined }).status).toBe('warn');
  });

  it('finds that there are no credentials, or no region', async () => {
    const env = await setUp();
    const loggedOut = await runProcess(['doctor', '--json'], {
      env: { ...env, AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' },
    });
    expect(loggedOut.code).toBe(1);
    expect(loggedOut.out).toMatch(/"check":"credentials","status":"fail".*aws sso login/);
    const nowhere = await runProcess(['doctor', '--json'], { env: { ...env, AWS_REGION: '' } });
    expect(nowhere.code).toBe(1);
    expect(nowhere.out).toMatch(/"check":"region","status":"fail".*--region/);
  });

  it('names each permission that is missing', async () => {
    const endpoint = await listening((request, response) => {
      const [, action = ''] = String(request.headers['x-amz-target']).split('.');
      const refusal = { __type: 'com.amazonaws.dynamodb.v20120810#AccessDeniedException', message: `no ${action}` };
      const unmet = { __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException', message: 'no' };
      const isAllowed = /^(GetItem|PutItem|BatchGetItem)$/.test(action);
      const body = !isAllowed ? refusal : action === 'PutItem' ? unmet : { Responses: {}, UnprocessedKeys: {} };
      response.writeHead(isAllowed && action !== 'PutItem' ? 200 : 400, {
        'content-type': 'application/x-amz-json-1.0',
      });
      response.end(JSON.stringify(body));
    });
    const env = await setUp({ AWS_ENDPOINT_URL_DYNAMODB: endpoint });
    const { of, code } = await examine({ env });
    expect(code).toBe(1);
    expect(of('table')).toMatchObject({ status: 'warn', fix: expect.stringContaining('dynamodb:DescribeTable') });
    expect(of('time to live')).toMatchObject({
      status: 'warn',
      fix: 'Allow dynamodb:DescribeTimeToLive to check it.',
    });
    const access = of('table access');
    expect(access?.status).toBe('fail');
    for (const action of ['dynamodb:Query', 'dynamodb:Query on index/status', 'dynamodb:DeleteItem'])
      expect(access?.fix).toContain(action);
    expect(of('due index')).toMatchObject({ status: 'warn', found: 'not allowed: dynamodb:Query on index/due' });
    for (const action of ['GetItem', 'PutItem']) expect(access?.fix).not.toMatch(new RegExp(`dynamodb:${action}\\b`));
  });

  it('reports that the time to live cannot be checked', async () => {
    const endpoint = await listening((request, response) => {
      const isTimeToLive = String(request.headers['x-amz-target']).endsWith('.DescribeTimeToLive');
      const name = isTimeToLive ? 'UnknownOperationException' : 'AccessDeniedException';
      response.writeHead(400, { 'content-type': 'application/x-amz-json-1.0' });
      response.end(JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: 'What?' }));
    });
    const env = await setUp({ AWS_ENDPOINT_URL_DYNAMODB: endpoint });
    expect((await examine({ env })).of('time to live')).toMatchObject({
      status: 'warn',
      found: 'request failed: What?',
    });
  });

  it('reads the time from error responses too', async () => {
    const endpoint = await listening((_, response) => {
      response.writeHead(400, { 'content-type': 'application/x-amz-json-1.0', date: new Date(0).toUTCString() });
      response.end(JSON.stringify({ __type: 'com.amazonaws.dynamodb.v20120810#AccessDeniedException', message: 'no' }));
    });
    const env = await setUp({ AWS_ENDPOINT_URL_DYNAMODB: endpoint });
    expect((await examine({ env, now: () => 0 })).of('clock')).toMatchObject({ status: 'ok' });
  });

  it('reports another error of a call', () => {
    const finding = permissionFinding('table access', 'the table', [
      { action: 'dynamodb:Query', error: new Error('Odd.') },
    ]);
    expect(finding).toMatchObject({ status: 'fail', found: 'dynamodb:Query: Odd' });
  });

  it('reports an endpoint that does not respond', async () => {
    const env = await setUp({ AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9', AWS_MAX_ATTEMPTS: '1' });
    const { of } = await examine({ env });
    expect(of('table')).toMatchObject({ status: 'fail', fix: expect.stringContaining('AWS_ENDPOINT_URL_DYNAMODB') });
  });

  it('checks that the API of a stack responds, requires credentials, and accepts ours', async () => {
    const [table, bucket] = [await freshTable(), await freshBucket()];
    const guarded = await listening((request, response) =>
      response.writeHead(request.headers.authorization ? 200 : 403).end(),
    );
    const open = await listening((_, response) => response.writeHead(200).end());
    const outputs = (apiUrl: string) => ({
      [STACK_OUTPUTS.table]: table,
      [STACK_OUTPUTS.bucket]: bucket,
      [STACK_OUTPUTS.apiUrl]: apiUrl,
    });
    const AWS_ENDPOINT_URL_CLOUDFORMATION = await fakeCloudFormation({
      ...{ good: outputs(guarded), open: outputs(open), gone: outputs('http://127.0.0.1:9') },
    });
    await setUp({ AWS_ENDPOINT_URL_CLOUDFORMATION, WAITSTATE_TABLE: '', WAITSTATE_BUCKET: '' });
    const good = await examine({}, '--stack', 'good');
    expect([good.of('api')?.status, good.of('api access')?.status, good.code]).toEqual(['ok', 'ok', 0]);
    const exposed = await examine({}, '--stack', 'open');
    expect(exposed.of('api')).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('accepts requests without credentials'),
    });
    expect((await examine({}, '--stack', 'gone')).of('api')).toMatchObject({ status: 'fail' });
    const none = await examine({}, '--stack', 'nothing');
    expect(none.of('target')).toMatchObject({
      status: 'fail',
      found: 'CloudFormation stack "nothing" was not found in region us-east-1',
    });
  });
});
