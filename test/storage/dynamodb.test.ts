import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import {
  BatchGetItemCommand,
  type CancellationReason,
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { dynamoRecordStore } from '../../lambda/storage/dynamodb/dynamo-records.ts';
import { TIME_TO_LIVE } from '../../lambda/storage/dynamodb/table.ts';
import type { Condition, ConditionFailedError, RecordStore, StoredRecord, Write } from '../../lambda/storage/ports.ts';
import { recordStoreContract } from '../contract/record-store.ts';
import { dynamoClient, freshTable } from '../engines/engines.ts';
import { awsError, type Fault, failing, withoutSleeping } from './failing-client.ts';

recordStoreContract('DynamoDB', async () => dynamoRecordStore({ table: await freshTable(), client: dynamoClient() }));
recordStoreContract('DynamoDB through a document client', async () =>
  dynamoRecordStore({ table: await freshTable(), client: DynamoDBDocumentClient.from(dynamoClient()) }),
);

let table: string;
beforeAll(async () => {
  table = await freshTable();
});

let partitions = 0;
const freshPartition = () => `dynamodb-test/${process.pid}-${Date.now()}-${++partitions}`;
const record = (partition: string, key: string, revision: string, more: Partial<StoredRecord> = {}): StoredRecord => ({
  partition,
  key,
  revision,
  meta: `meta of ${revision}`,
  ...more,
});
const put = (stored: StoredRecord, when: Condition = 'absent'): Write => ({ put: stored, when });

/** A store on the real engine whose first requests meet the faults. */
function faulty(...faults: Fault[]) {
  const client = failing(dynamoClient({ maxAttempts: 1 }), ...faults);
  const { waits, options } = withoutSleeping();
  return { store: dynamoRecordStore({ table, client, ...options }), sent: client.sent, waits };
}

/** A store on a client that never reaches an engine. */
function mocked(tries?: number) {
  const client = new DynamoDBClient({ region: 'eu-central-1' });
  return {
    mock: mockClient(client),
    store: dynamoRecordStore({ table: 'runs', client, ...withoutSleeping(tries).options }),
  };
}

const failureOf = (promise: Promise<unknown>): Promise<ConditionFailedError> =>
  promise.then(
    () => Promise.reject(new Error('It resolved.')),
    (error) => error,
  );

const canceled = (...reasons: (string | CancellationReason)[]) =>
  awsError('TransactionCanceledException', {
    CancellationReasons: reasons.map((reason) =>
      typeof reason === 'string' ? { Code: reason, Message: `because of ${reason}` } : reason,
    ),
  });

const item = ({ partition, key, revision, meta }: StoredRecord) => ({
  pk: { S: partition },
  sk: { S: key },
  r: { S: revision },
  m: { S: meta },
});

describe('a request with a transient failure', () => {
  test.each([
    ['it is throttled', awsError('ThrottlingException')],
    ['it exceeds the provisioned capacity', awsError('ProvisionedThroughputExceededException')],
    ['it conflicts with a transaction', awsError('TransactionConflictException')],
    ['it fails with status 500', awsError('InternalServerError', { status: 500 })],
    ['it fails with status 503', awsError('UnknownError', { status: 503 })],
    ['it times out', Object.assign(new Error('no response in 5 s'), { name: 'TimeoutError' })],
    ['its connection breaks', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })],
    [
      'it was signed with a wrong clock',
      awsError('InvalidSignatureException', { message: 'Signature expired: 2026 is now' }),
    ],
  ])('is retried when %s', async (_, fault) => {
    const { store, sent, waits } = faulty(fault, fault, fault);
    const written = record(freshPartition(), 'c1', 'r1');
    await store.commit([put(written)]);
    expect(await store.read(written.partition, ['c1'])).toEqual([written]);
    expect(sent).toEqual(['PutItem', 'PutItem', 'PutItem', 'PutItem', 'GetItem']);
    expect(waits).toHaveLength(3);
  });

  test('throws STORAGE_UNAVAILABLE after the last attempt, with the AWS error as its cause', async () => {
    const { mock, store } = mocked(3);
    const fault = awsError('ThrottlingException');
    mock.on(QueryCommand).rejects(fault);
    await expect(store.range('a/b')).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', cause: fault });
    expect(mock.commandCalls(QueryCommand)).toHaveLength(3);
  });

  test('backs off longer after each attempt, up to a limit', async () => {
    const client = new DynamoDBClient({ region: 'eu-central-1' });
    mockClient(client).on(QueryCommand).rejects(awsError('ThrottlingException'));
    const { waits, options } = withoutSleeping(12);
    await failureOf(dynamoRecordStore({ table: 'runs', client, ...options }).range('a/b'));
    expect(waits).toHaveLength(11);
    waits.forEach((wait, tried) => {
      expect(wait).toBeGreaterThanOrEqual(0);
      expect(wait).toBeLessThanOrEqual(Math.min(5_000, 50 * 2 ** (tried + 1)));
    });
  });
});

describe('a commit whose response is lost', () => {
  test('resolves for a put, which is applied once', async () => {
    const { store, sent } = faulty('response lost');
    const written = record(freshPartition(), 'c1', 'r1', { body: new Uint8Array([1, 2]) });
    await store.commit([put(written)]);
    expect(await store.read(written.partition, ['c1'])).toEqual([written]);
    expect(sent.slice(0, 2)).toEqual(['PutItem', 'PutItem']);
  });

  test('resolves for a put that replaces a record', async () => {
    const partition = freshPartition();
    const { store } = faulty(undefined, 'response lost');
    await store.commit([put(record(partition, 'cz', 'r1'))]);
    await store.commit([put(record(partition, 'cz', 'r2'), { revision: 'r1' })]);
    expect(await store.read(partition, ['cz'])).toEqual([record(partition, 'cz', 'r2')]);
  });

  test('resolves for a transaction of puts and removes', async () => {
    const partition = freshPartition();
    const { store, sent } = faulty(undefined, 'response lost');
    await store.commit([put(record(partition, 'old', 'r1'))]);
    await store.commit([
      { remove: { partition, key: 'old' }, when: { revision: 'r1' } },
      put(record(partition, 'c1', 'r2')),
      put(record(partition, 'c2', 'r3')),
    ]);
    expect((await store.range(partition)).records.map(({ key }) => key)).toEqual(['c1', 'c2']);
    expect(sent.slice(1, 3)).toEqual(['TransactWriteItems', 'TransactWriteItems']);
  });

  test('resolves for a remove, and for a transaction of removes', async () => {
    const partition = freshPartition();
    const { store, sent } = faulty(undefined, 'response lost', undefined, 'response lost');
    const remove = (key: string): Write => ({ remove: { partition, key }, when: { revision: 'r1' } });
    await store.commit(['a', 'b', 'c'].map((key) => put(record(partition, key, 'r1'))));
    await store.commit([remove('a')]);
    await store.commit([remove('b'), remove('c')]);
    expect(sent.slice(1)).toEqual(['DeleteItem', 'DeleteItem', 'TransactWriteItems', 'TransactWriteItems']);
    expect((await store.range(partition)).records).toEqual([]);
  });

  test('is recognized as applied by a retry inside the SDK too', async () => {
    const { mock, store } = mocked();
    const found = { Item: item(record('a/b', 'c1', 'r1')), $metadata: { attempts: 2 } };
    mock.on(PutItemCommand).rejects(awsError('ConditionalCheckFailedException', found));
    await store.commit([put(record('a/b', 'c1', 'r1'))]);
  });

  test('fails when another writer was first', async () => {
    const partition = freshPartition();
    await faulty().store.commit([put(record(partition, 'c1', 'theirs'))]);
    const lost = await failureOf(faulty('response lost').store.commit([put(record(partition, 'c1', 'ours'))]));
    expect(lost.found).toEqual(new Map([[0, record(partition, 'c1', 'theirs')]]));
    const both = [put(record(partition, 'c1', 'ours')), put(record(partition, 'c2', 'ours'))];
    const transaction = await failureOf(faulty('response lost').store.commit(both));
    expect(transaction.found).toEqual(new Map([[0, record(partition, 'c1', 'theirs')]]));
  });

  test('fails for a remove of a changed record', async () => {
    const partition = freshPartition();
    await faulty().store.commit([put(record(partition, 'c1', 'theirs'))]);
    const remove: Write = { remove: { partition, key: 'c1' }, when: { revision: 'ours' } };
    const failed = await failureOf(faulty('response lost').store.commit([remove]));
    expect(failed.found).toEqual(new Map([[0, record(partition, 'c1', 'theirs')]]));
  });

  test('is not assumed on a first attempt: a repeated put and a remove of a missing record fail', async () => {
    const written = record(freshPartition(), 'c1', 'r1');
    const { store } = faulty();
    await store.commit([put(written)]);
    expect((await failureOf(store.commit([put(written)]))).found).toEqual(new Map([[0, written]]));
    const remove: Write = { remove: { partition: written.partition, key: 'c2' }, when: { revision: 'r1' } };
    expect((await failureOf(store.commit([remove]))).found).toEqual(new Map([[0, undefined]]));
  });
});

describe('a transaction that is canceled', () => {
  const theirs = record('a/b', 'c1', 'theirs');
  const failed = { Code: 'ConditionalCheckFailed', Item: item(theirs) };
  const writes = [put(record('a/b', 'c1', 'ours')), put(record('a/b', 'c2', 'ours'))];

  test.each(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'])(
    'is retried because of %s, and finally throws STORAGE_UNAVAILABLE',
    async (reason) => {
      const { mock, store } = mocked(3);
      mock.on(TransactWriteItemsCommand).rejectsOnce(canceled('None', reason)).resolves({});
      await store.commit(writes);
      mock.on(TransactWriteItemsCommand).rejects(canceled(reason, 'None'));
      await expect(store.commit(writes)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
      expect(mock.commandCalls(TransactWriteItemsCommand)).toHaveLength(5);
    },
  );

  test.each([
    ['ItemCollectionSizeLimitExceeded', 'RECORD_TOO_LARGE'],
    ['ValidationError', 'INVALID_INPUT'],
    [{ Code: 'ValidationError', Message: 'Item size has exceeded the maximum allowed size' }, 'RECORD_TOO_LARGE'],
  ])('fails immediately for the reason %j as %s, even if there is a conflict too', async (reason, code) => {
    const { mock, store } = mocked();
    mock.on(TransactWriteItemsCommand).rejects(canceled('TransactionConflict', reason));
    await expect(store.commit(writes)).rejects.toMatchObject({ code });
    expect(mock.commandCalls(TransactWriteItemsCommand)).toHaveLength(1);
  });

  test('throws STORAGE_UNAVAILABLE for an unknown or missing reason', async () => {
    const { mock, store } = mocked(2);
    mock.on(TransactWriteItemsCommand).rejectsOnce(canceled('SomethingNew', 'None'));
    await expect(store.commit(writes)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    mock.on(TransactWriteItemsCommand).rejects(awsError('TransactionCanceledException'));
    await expect(store.commit(writes)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });

  test.each(['None', 'TransactionConflict', 'ThrottlingError', 'ValidationError', 'ItemCollectionSizeLimitExceeded'])(
    'reports only the failed condition if the other reason is %s',
    async (reason) => {
      const { mock, store } = mocked();
      mock.on(TransactWriteItemsCommand).rejects(canceled(failed, reason));
      const error = await failureOf(store.commit(writes));
      expect(error.code).toBe('CONDITION_FAILED');
      expect(error.found).toEqual(new Map([[0, theirs]]));
      expect(mock.commandCalls(TransactWriteItemsCommand)).toHaveLength(1);
    },
  );

  test('reports the current record of each failed condition', async () => {
    const { mock, store } = mocked();
    mock.on(TransactWriteItemsCommand).rejects(canceled(failed, 'ConditionalCheckFailed'));
    expect((await failureOf(store.commit(writes))).found).toEqual(
      new Map([
        [0, theirs],
        [1, undefined],
      ]),
    );
  });

  test('is retried after a lost response until its put is visible, while another transaction blocks it', async () => {
    const remove: Write = { remove: { partition: 'a/b', key: 'c0' }, when: { revision: 'r0' } };
    const ours = { Code: 'ConditionalCheckFailed', Item: item(record('a/b', 'c1', 'ours')) };
    const { mock, store } = mocked();
    mock
      .on(TransactWriteItemsCommand)
      .rejectsOnce(awsError('InternalServerError', { status: 500 }))
      .rejectsOnce(canceled('ConditionalCheckFailed', 'TransactionConflict'))
      .rejects(canceled('ConditionalCheckFailed', ours));
    await store.commit([remove, put(record('a/b', 'c1', 'ours'))]);
    expect(mock.commandCalls(TransactWriteItemsCommand)).toHaveLength(3);
  });

  test('is recognized as applied by one put after a lost response, even when another put was overwritten since', async () => {
    const ours = { Code: 'ConditionalCheckFailed', Item: item(record('a/b', 'c2', 'ours')) };
    const { mock, store } = mocked();
    mock
      .on(TransactWriteItemsCommand)
      .rejectsOnce(awsError('InternalServerError', { status: 500 }))
      .rejects(canceled(failed, ours));
    await store.commit(writes);
  });
});

describe('a rejected request', () => {
  test.each([
    ['PutItem', PutItemCommand, (store: RecordStore) => store.commit([put(record('a/b', 'c1', 'r1'))])],
    [
      'DeleteItem',
      DeleteItemCommand,
      (store: RecordStore) => store.commit([{ remove: { partition: 'a/b', key: 'c1' }, when: { revision: 'r1' } }]),
    ],
    [
      'PutItem, dynamodb:DeleteItem',
      TransactWriteItemsCommand,
      (store: RecordStore) =>
        store.commit([
          put(record('a/b', 'c1', 'r1')),
          { remove: { partition: 'a/b', key: 'c2' }, when: { revision: 'r1' } },
        ]),
    ],
    ['Query', QueryCommand, (store: RecordStore) => store.list('due', 'now')],
    ['BatchGetItem', BatchGetItemCommand, (store: RecordStore) => store.read('a/b', ['c1', 'c2'])],
  ] as const)('names the table and the missing permission dynamodb:%s', async (actions, command, run) => {
    const { mock, store } = mocked();
    mock.on(command as typeof PutItemCommand).rejects(awsError('AccessDeniedException'));
    const error = await failureOf(run(store));
    expect(error.code).toBe('STORAGE_DENIED');
    expect(error.message).toContain(`allow dynamodb:${actions} on`);
    expect(error.message).toContain('"runs"');
    expect(error.message).toContain('eu-central-1');
    expect(mock.commandCalls(command as typeof PutItemCommand)).toHaveLength(1);
  });

  test.each(['CredentialsProviderError', 'ExpiredTokenException', 'UnrecognizedClientException'])(
    'names the credentials as the cause of %s',
    async (name) => {
      const { mock, store } = mocked();
      mock.on(QueryCommand).rejects(awsError(name));
      const error = await failureOf(store.range('a/b'));
      expect(error.code).toBe('STORAGE_DENIED');
      expect(error.message).toContain('credentials');
    },
  );

  test('names a missing table, its region and its endpoint', async () => {
    const store = dynamoRecordStore({ table: 'not-there', client: dynamoClient() });
    const runs = [
      () => store.read('a/b', ['c1']),
      () => store.read('a/b', ['c1', 'c2']),
      () => store.range('a/b'),
      () => store.list('status', 'x'),
      () => store.commit([put(record('a/b', 'c1', 'r1'))]),
      () => store.commit([put(record('a/b', 'c1', 'r1')), put(record('a/b', 'c2', 'r1'))]),
    ];
    for (const run of runs) {
      const error = await failureOf(run());
      expect(error.code).toBe('STORAGE_MISSING');
      expect(error.message).toMatch(/"not-there".* in region \S+ at http/);
    }
  });

  test('is rejected for its size before anything is sent', async () => {
    const partition = freshPartition();
    const { store, sent } = faulty();
    const sized = (key: string, bytes: number) =>
      record(partition, key, 'r1', { meta: '', body: new Uint8Array(bytes) });
    const overhead = `pk${partition}skc1rr1mb`.length;
    await store.commit([put(sized('c1', 400 * 1024 - overhead))]);
    await expect(store.commit([put(sized('c2', 400 * 1024 - overhead + 1))])).rejects.toMatchObject({
      code: 'RECORD_TOO_LARGE',
    });
    // A number of ten digits weighs six bytes, and its name one.
    const passing = (bytes: number) => put({ ...sized('c3', bytes - overhead - 7), expiresAt: 4_102_444_799_001 });
    await store.commit([passing(400 * 1024)]);
    await expect(store.commit([passing(400 * 1024 + 1)])).rejects.toMatchObject({ code: 'RECORD_TOO_LARGE' });
    const eleven = Array.from({ length: 11 }, (_, n) => put(sized(`d${n}`, 399 * 1024)));
    await expect(store.commit(eleven)).rejects.toMatchObject({ code: 'RECORD_TOO_LARGE' });
    expect(sent).toEqual(['PutItem', 'PutItem']);
  });
});

test('an expiring record has its expiry in whole seconds, rounded up, in the time-to-live attribute', async () => {
  const partition = freshPartition();
  const { store } = faulty();
  await store.commit([put(record(partition, 'c1', 'r1', { expiresAt: 4_102_444_799_001 }))]);
  await store.commit([put(record(partition, 'c2', 'r1'))]);
  const itemOf = async (key: string) => {
    const Key = { pk: { S: partition }, sk: { S: key } };
    return (await dynamoClient().send(new GetItemCommand({ TableName: table, Key }))).Item;
  };
  expect((await itemOf('c1'))?.[TIME_TO_LIVE.AttributeName]).toEqual({ N: '4102444800' });
  expect(await itemOf('c2')).not.toHaveProperty(TIME_TO_LIVE.AttributeName);
});

test('reads are consistent unless they use an index', async () => {
  const { mock, store } = mocked();
  mock.on(QueryCommand).resolves({}).on(GetItemCommand).resolves({}).on(BatchGetItemCommand).resolves({});
  await store.read('a/b', ['c1']);
  await store.read('a/b', ['c1', 'c2']);
  await store.range('a/b');
  await store.list('owner', 'x');
  expect(mock.calls().map(({ args }) => args[0].input)).toMatchObject([
    { ConsistentRead: true },
    { RequestItems: { runs: { ConsistentRead: true } } },
    { ConsistentRead: true },
    { IndexName: 'owner' },
  ]);
});

test.each([{ from: 'b', to: 'a' }, { to: '' }])(
  'the empty bounds %j, which DynamoDB rejects, return an empty page',
  async (bounds) => {
    const { store, sent } = faulty();
    expect(await store.range('a/b', bounds)).toEqual({ records: [] });
    expect(await store.list('due', 'x', bounds)).toEqual({ records: [] });
    expect(sent).toEqual([]);
  },
);

test('an empty bound, which DynamoDB rejects, counts as no bound', async () => {
  const { mock, store } = mocked();
  mock.on(QueryCommand).resolves({});
  await store.range('a/b', { from: '' });
  await store.range('a/b');
  const [empty, none] = mock.commandCalls(QueryCommand).map(({ args }) => args[0].input);
  expect(empty).toEqual(none);
  expect(Object.values(empty?.ExpressionAttributeValues ?? {})).not.toContainEqual({ S: '' });
});

test('unprocessed keys are requested again', async () => {
  const { mock, store } = mocked();
  const Keys = ['c1', 'c2'].map((key) => ({ pk: { S: 'a/b' }, sk: { S: key } }));
  const [c1, c2] = [record('a/b', 'c1', 'r1'), record('a/b', 'c2', 'r2')];
  mock
    .on(BatchGetItemCommand)
    .resolvesOnce({ UnprocessedKeys: { runs: { Keys } } })
    .resolvesOnce({ Responses: { runs: [item(c2)] }, UnprocessedKeys: { runs: { Keys: Keys.slice(0, 1) } } })
    .resolves({ Responses: { runs: [item(c1)] }, UnprocessedKeys: {} });
  expect(await store.read('a/b', ['c1', 'c2'])).toEqual([c1, c2]);
  expect(mock.commandCalls(BatchGetItemCommand)).toHaveLength(3);
});

test('more keys than fit one request are all read', async () => {
  const partition = freshPartition();
  const { store } = faulty();
  const keys = Array.from({ length: 150 }, (_, n) => `c${String(n).padStart(10, '0')}`);
  await store.commit(keys.slice(0, 100).map((key) => put(record(partition, key, 'r1'))));
  await store.commit(keys.slice(100).map((key) => put(record(partition, key, 'r1'))));
  expect((await store.read(partition, [...keys, 'none'])).map(({ key }) => key)).toEqual(keys);
});

test('a page ends at one megabyte and the next one continues', async () => {
  const partition = freshPartition();
  const { store, sent } = faulty();
  const keys = Array.from({ length: 8 }, (_, n) => `c${n}`);
  for (const key of keys) await store.commit([put(record(partition, key, key, { body: new Uint8Array(300 * 1024) }))]);
  const seen: string[] = [];
  let after: string | undefined;
  do {
    const page = await store.range(partition, { newestFirst: true, ...(after && { after }) });
    seen.push(...page.records.map(({ key }) => key));
    after = page.next;
  } while (after);
  expect(seen).toEqual(keys.toReversed());
  expect(sent.filter((name) => name === 'Query').length).toBeGreaterThan(1);
});

test('an item that Waitstate did not write is reported as DAMAGED', async () => {
  const partition = freshPartition();
  const foreign = { pk: { S: partition }, sk: { S: 'c1' }, other: { S: 'x' } };
  await dynamoClient().send(new PutItemCommand({ TableName: table, Item: foreign }));
  await expect(faulty().store.range(partition)).rejects.toMatchObject({ code: 'DAMAGED' });
});

test('a missing client is created from the environment on first use and closed with the store', async () => {
  const store = dynamoRecordStore({ table });
  await store.close();
  const { protocol, hostname, port } = (await dynamoClient().config.endpoint?.()) ?? {};
  vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', `${protocol}//${hostname}:${port}`);
  vi.stubEnv('AWS_REGION', process.env.AWS_REGION ?? 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', process.env.AWS_ACCESS_KEY_ID ?? 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', process.env.AWS_SECRET_ACCESS_KEY ?? 'test');
  onTestFinished(() => void vi.unstubAllEnvs());
  const written = record(freshPartition(), 'c1', 'r1');
  await store.commit([put(written)]);
  expect(await store.read(written.partition, ['c1'])).toEqual([written]);
  await store.close();
});

test('a missing region is named in the error', async () => {
  for (const name of ['AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_PROFILE']) vi.stubEnv(name, undefined);
  for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) vi.stubEnv(name, '/dev/null');
  onTestFinished(() => void vi.unstubAllEnvs());
  const error = await failureOf(dynamoRecordStore({ table: 'runs' }).range('a/b'));
  expect(error.code).toBe('STORAGE_MISSING');
  expect(error.message).toContain('AWS_REGION');
});

test('the first call of a store says what to install when the SDK is missing', async () => {
  const script = `
    import { registerHooks } from 'node:module';
    const missing = process.env.MISSING;
    registerHooks({ resolve(name, context, next) { return next(name === missing ? name + '-not-there' : name, context); } });
    const { checkpointStore, payload } = await import('./lambda/checkpoints.ts');
    await checkpointStore().save({ run: 'r', state: payload('x') }).catch((error) => console.log(error.code, error.message));
  `;
  const environment = { ...process.env, WAITSTATE_TABLE: 't', WAITSTATE_BUCKET: 'b', AWS_REGION: 'us-east-1' };
  for (const peer of ['@aws-sdk/client-dynamodb', '@aws-sdk/client-s3']) {
    const env = { ...environment, MISSING: peer };
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env });
    expect(stdout).toBe(`STORAGE_MISSING The package ${peer} is not installed: run "npm install ${peer}".\n`);
  }
});

test('a list skips an invalid item, which a direct read reports', async () => {
  const client = dynamoClient();
  const store = dynamoRecordStore({ table, client });
  const partition = freshPartition();
  const lists = { due: { group: partition, order: '5' } };
  await store.commit([put(record(partition, 'good', 'r1', { lists }))]);
  const strange = [
    {},
    { r: { S: 'r' } },
    { m: { S: 'm' } },
    { r: { N: '1' }, m: { S: 'm' } },
    { r: { S: 'r' }, m: { B: Buffer.from('m') } },
  ];
  for (const [at, more] of strange.entries()) {
    const Item = { pk: { S: partition }, sk: { S: `bad${at}` }, dg: { S: partition }, do: { S: `${at}` }, ...more };
    await client.send(new PutItemCommand({ TableName: table, Item }));
  }
  const { records } = await store.list('due', partition);
  expect(records.map(({ key }) => key)).toEqual(['good']);
  await expect(store.read(partition, ['bad0'])).rejects.toMatchObject({ code: 'DAMAGED' });
  await expect(store.range(partition)).rejects.toMatchObject({ code: 'DAMAGED' });
});
