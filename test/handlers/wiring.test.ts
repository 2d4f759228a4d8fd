import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { readHead } from '../../lambda/checkpoints/format/records.ts';
import { toPartition } from '../../lambda/core/ids.ts';
import { ENVIRONMENT, HANDLERS, type HandlerName, VARIABLES_BY_HANDLER } from '../../lambda/environment/names.ts';
import { dynamoRecordStore } from '../../lambda/storage/dynamodb/dynamo-records.ts';
import { HEAD_KEY } from '../../lambda/storage/keys.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { dynamoClient, freshBucket, freshTable, s3Client } from '../engines/engines.ts';
import { httpEvent, lambdaContext } from './scene.ts';

const endpointOf = async (client: { config: { endpoint?: (() => Promise<object>) | undefined } }): Promise<string> => {
  const { protocol, hostname, port } = Object(await client.config.endpoint?.());
  return `${protocol}//${hostname}:${port}`;
};

let all: Record<string, string>;

beforeAll(async () => {
  const [table, bucket] = await Promise.all([freshTable(), freshBucket()]);
  all = {
    WAITSTATE_TABLE: table,
    WAITSTATE_BUCKET: bucket,
    WAITSTATE_KMS_KEY: 'alias/runs',
    WAITSTATE_BUS: 'bus',
    WAITSTATE_ACCEPT_UNENCRYPTED: 'true',
    WAITSTATE_RETENTION_SECONDS: '86400',
    WAITSTATE_APPROVAL_URL: 'https://x.test/approvals',
    WAITSTATE_TOPIC: 'arn:aws:sns:x',
    WAITSTATE_AGENTS: '{}',
    WAITSTATE_TENANTS: '["default"]',
    WAITSTATE_JWT_CALLERS: '{"tenant":"default","rolesClaim":"roles"}',
    WAITSTATE_IAM_CALLERS: '{}',
    WAITSTATE_CORS_ORIGINS: 'https://portal.test',
    WAITSTATE_METRICS_NAMESPACE: 'Shop',
    AWS_ENDPOINT_URL_DYNAMODB: await endpointOf(dynamoClient()),
    AWS_ENDPOINT_URL_S3: await endpointOf(s3Client()),
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
  };
});

const before = process.env;
afterEach(() => {
  process.env = before;
  vi.restoreAllMocks();
  vi.doUnmock('../../lambda/handlers/read-environment.ts');
  vi.resetModules();
});

/** Replaces the environment of the process and returns the set of Waitstate variables that are read from then on. */
function watched(variables: Readonly<Record<string, string>>): ReadonlySet<string> {
  const read = new Set<string>();
  process.env = new Proxy({ ...before, ...variables } as NodeJS.ProcessEnv, {
    get(of, name) {
      if (String(name).startsWith('WAITSTATE_')) read.add(String(name));
      return Reflect.get(of, name);
    },
  });
  return read;
}

/** A harmless event for each handler. */
const EVENTS: Readonly<Record<HandlerName, object>> = {
  api: httpEvent('GET', '/api/me'),
  checkpoint: {},
  gauge: {},
  sweep: {},
  notify: { Records: [] },
  resume: { Records: [] },
};

const namesOf = (who: keyof typeof VARIABLES_BY_HANDLER): readonly string[] =>
  VARIABLES_BY_HANDLER[who].map((name) => ENVIRONMENT[name]).sort();

describe('a wired function', () => {
  it('is tested with every variable that exists', () => {
    expect(Object.keys(all)).toEqual(expect.arrayContaining(Object.values(ENVIRONMENT)));
  });

  it.each(HANDLERS)('reads exactly its listed variables and uses all of them if it is %s', async (name) => {
    vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
    const used = new Set<string>();
    vi.doMock('../../lambda/handlers/read-environment.ts', async (original) => {
      const real = await original<typeof import('../../lambda/handlers/read-environment.ts')>();
      const noting = {
        get(of: object, field: string): unknown {
          if (Object.hasOwn(of, field)) used.add(field);
          return Reflect.get(of, field);
        },
      };
      return { ...real, readEnvironment: (handler: HandlerName) => new Proxy(real.readEnvironment(handler), noting) };
    });
    const ours = namesOf(name);
    const isOurs = ([variable]: readonly [string, string]) =>
      !variable.startsWith('WAITSTATE_') || ours.includes(variable);
    const read = watched(Object.fromEntries(Object.entries(all).filter(isOurs)));
    const { handler } = (await import(`../../lambda/handlers/${name}.ts`)) as {
      handler: (event: object, context: object) => Promise<unknown>;
    };
    expect(await handler(EVENTS[name], lambdaContext())).toBeTypeOf('object');
    expect([...read].sort()).toEqual(ours);
    expect([...used].sort()).toEqual(VARIABLES_BY_HANDLER[name].toSorted());
  });

  it('reads exactly its listed variables if it runs an agent on DynamoDB', async () => {
    const read = watched({ ...all, AWS_ENDPOINT_URL_KMS: await kms() });
    const { agent } = await import('../../lambda/index.ts');
    const refunds = agent({ name: 'refunds', notify: () => {}, run: (ctx) => ctx.step('pay', () => 'SECRET') });
    await refunds.start(undefined, { id: 'by agent' });
    await refunds.handler()({ run: 'by agent' }, lambdaContext());
    expect([...read].sort()).toEqual(namesOf('agent'));
  });
});

describe('runs in an environment with a table, a retention and a key', () => {
  const KEPT_MS = 86_400_000;

  it('have this retention and are encrypted without any code', async () => {
    vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
    watched({ ...all, AWS_ENDPOINT_URL_KMS: await kms() });
    const { agent } = await import('../../lambda/index.ts');
    const { checkpointStore } = await import('../../lambda/checkpoints.ts');
    const refunds = agent({ name: 'refunds', run: (ctx) => ctx.step('pay', () => 'SECRET') });
    await refunds.start(undefined, { id: 'of agent' });
    await refunds.handler()({ run: 'of agent' }, lambdaContext());
    await checkpointStore().save({ run: 'of store', state: 'SECRET' });
    const { handler } = await import('../../lambda/handlers/checkpoint.ts');
    const start = { waitstate: 1, action: 'start', run: 'of handler', agent: 'refunds', input: 'SECRET' };
    expect(await handler(start, {})).toMatchObject({ ok: true });
    for (const run of ['of agent', 'of store', 'of handler'])
      expect([run, await headIn(run)]).toMatchObject([run, { retentionMs: KEPT_MS, key: { keyId: 'alias/runs' } }]);
    // Another process decrypts them with the key in the head.
    vi.resetModules();
    const { agent: another } = await import('../../lambda/index.ts');
    const { store } = another({ name: 'refunds', run: async () => {} });
    expect(await store.load('of store')).toMatchObject({ state: 'SECRET' });
  });

  it('follow the options in code, which take precedence', async () => {
    watched({ ...all, AWS_ENDPOINT_URL_KMS: 'http://127.0.0.1:1' });
    const { agent } = await import('../../lambda/index.ts');
    const { checkpointStore, localKeys } = await import('../../lambda/checkpoints.ts');
    const secret = Buffer.alloc(32, 7).toString('base64');
    const options = { retention: { minutes: 1 }, keys: localKeys({ current: 'mine', keys: { mine: secret } }) };
    await agent({ name: 'a', run: async () => {} }, options).start(undefined, { id: 'options of agent' });
    await checkpointStore(options).save({ run: 'options of store', state: 1 });
    for (const run of ['options of agent', 'options of store'])
      expect([run, await headIn(run)]).toMatchObject([run, { retentionMs: 60_000, key: { keyId: 'mine' } }]);
  });

  it('ignore the environment if the agent has its own storage or a local folder', async () => {
    const read = watched(all);
    const { agent } = await import('../../lambda/index.ts');
    const given = agent({ name: 'a', run: async () => {} }, { storage: memoryStorage() });
    await given.start(undefined, { id: 'r' });
    expect([...read]).toEqual([]);
    const folder = mkdtempSync(join(tmpdir(), 'waitstate-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    watched({ ...all, WAITSTATE_TABLE: '', WAITSTATE_BUCKET: '', WAITSTATE_FOLDER: folder });
    const local = agent({ name: 'a', run: async () => {} });
    await local.start(undefined, { id: 'r' });
    expect(await local.store.describe('r')).toMatchObject({ encrypted: false });
    expect(await local.store.describe('r')).not.toHaveProperty('retention');
    await local.store.close();
  });

  it('are refused immediately if the retention is invalid', async () => {
    watched({ ...all, WAITSTATE_RETENTION_SECONDS: '90 days' });
    const { agent } = await import('../../lambda/index.ts');
    expect(() => agent({ name: 'a', run: async () => {} })).toThrow(
      'WAITSTATE_RETENTION_SECONDS must be a whole number of seconds, from 1 to 3162240000 (100 years); found 90 days.',
    );
  });
});

const headIn = async (run: string) => {
  const records = dynamoRecordStore({ table: all.WAITSTATE_TABLE ?? '', client: dynamoClient() });
  const [stored] = await records.read(toPartition('default', run), [HEAD_KEY]);
  return stored && readHead(stored).meta;
};

/** A fake KMS that binds ciphertexts to the key and the encryption context. */
async function kms(): Promise<string> {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    const { KeyId, EncryptionContext, Plaintext = '', CiphertextBlob = '' } = JSON.parse(text);
    const bound = `${KeyId} ${JSON.stringify(EncryptionContext)} `;
    const loaded = Buffer.from(CiphertextBlob, 'base64').toString();
    const content = String(request.headers['x-amz-target']).endsWith('Encrypt')
      ? { KeyId, CiphertextBlob: Buffer.from(bound + Plaintext).toString('base64') }
      : { KeyId, Plaintext: loaded.startsWith(bound) ? loaded.slice(bound.length) : '' };
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(content));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${Object(server.address()).port}`;
}
