import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeAll, describe, expect, test } from 'vitest';
import type { PayloadStore } from '../../lambda/storage/ports.ts';
import { copyRanges, partBytes, splitIntoParts } from '../../lambda/storage/s3/parts.ts';
import { s3PayloadStore } from '../../lambda/storage/s3/s3-payloads.ts';
import { payloadStoreContract } from '../contract/payload-store.ts';
import { freshBucket, s3Client } from '../engines/engines.ts';
import { awsError, type Fault, failing, withoutSleeping } from './failing-client.ts';

payloadStoreContract('S3', async () => s3PayloadStore({ bucket: await freshBucket(), client: s3Client() }));
payloadStoreContract('S3 under a prefix', async () =>
  s3PayloadStore({ bucket: await freshBucket(), prefix: 'some/where+else/', client: s3Client() }),
);

const MIB = 1024 * 1024;

let bucket: string;
beforeAll(async () => {
  bucket = await freshBucket();
});

let partitions = 0;
const freshPartition = () => `s3-test/${process.pid}-${Date.now()}-${++partitions}`;

function faulty(...faults: Fault[]) {
  const client = failing(s3Client(), ...faults);
  return { store: s3PayloadStore({ bucket, client, ...withoutSleeping().options }), sent: client.sent };
}

function mocked(tries?: number) {
  const client = new S3Client({ region: 'eu-central-1' });
  return {
    mock: mockClient(client),
    store: s3PayloadStore({ bucket: 'kept', client, ...withoutSleeping(tries).options }),
  };
}

async function* pieces(count: number, bytes: number) {
  for (let n = 0; n < count; n++) yield new Uint8Array(bytes).fill(n);
}

function endless() {
  let closed = false;
  async function* stream() {
    try {
      for (;;) yield new Uint8Array(8 * MIB);
    } finally {
      closed = true;
    }
  }
  return { stream: stream(), closed: () => closed };
}

async function bytesOf(content: AsyncIterable<Uint8Array> | undefined): Promise<Buffer | undefined> {
  return content && Buffer.concat(await all(content));
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const names = async (list: AsyncIterable<{ partition: string; id: string }>) =>
  (await all(list)).map(({ partition, id }) => `${partition}/${id}`);

describe('a put', () => {
  test.each([
    ['no bytes', 0, 0],
    ['a few bytes', 3, 100],
    ['exactly one part', 8, MIB],
  ])('sends a stream with %s in one request', async (_, count, bytes) => {
    const partition = freshPartition();
    const { store, sent } = faulty();
    await store.put(partition, 'x', pieces(count, bytes));
    expect(sent).toEqual(['PutObject']);
    expect((await bytesOf(await store.open(partition, 'x')))?.length).toBe(count * bytes);
  });

  test('uploads a larger stream in parts without losing a byte, even when responses are lost', async () => {
    const partition = freshPartition();
    const { store, sent } = faulty(undefined, 'response lost', awsError('SlowDown', { status: 503 }));
    await store.put(partition, 'x', pieces(23, 1_000_003));
    const expected = Buffer.concat(await all(pieces(23, 1_000_003)));
    expect((await bytesOf(await store.open(partition, 'x')))?.equals(expected)).toBe(true);
    expect(sent.filter((name) => name === 'UploadPart')).toHaveLength(3 + 2);
  });

  test('resolves when the last response of an upload is lost', async () => {
    const partition = freshPartition();
    const { store, sent } = faulty(undefined, undefined, undefined, 'response lost');
    await store.put(partition, 'x', new Uint8Array(9 * MIB));
    expect(sent.slice(-2)).toEqual(['CompleteMultipartUpload', 'HeadObject']);
    expect((await bytesOf(await store.open(partition, 'x')))?.length).toBe(9 * MIB);
  });

  test('removes the other parts when one fails, and throws the reason', async () => {
    const { mock, store } = mocked();
    const fault = awsError('AccessDenied', { status: 403 });
    mock.on(CreateMultipartUploadCommand).resolves({ UploadId: 'u1' });
    mock.on(UploadPartCommand).resolves({ ETag: 'e' }).on(UploadPartCommand, { PartNumber: 2 }).rejects(fault);
    mock.on(AbortMultipartUploadCommand).rejects(awsError('AccessDenied', { status: 403 }));
    const { stream, closed } = endless();
    await expect(store.put('a/b', 'x', stream)).rejects.toMatchObject({ code: 'STORAGE_DENIED', cause: fault });
    expect(closed()).toBe(true);
    expect(mock.commandCalls(UploadPartCommand).length).toBeLessThan(30);
    expect(mock.commandCalls(AbortMultipartUploadCommand).map(({ args }) => args[0].input)).toEqual([
      { Bucket: 'kept', Key: 'a/b/x', UploadId: 'u1' },
    ]);
    expect(mock.commandCalls(CompleteMultipartUploadCommand)).toHaveLength(0);
  });

  test('closes its stream when it cannot start', async () => {
    const { mock, store } = mocked();
    mock.rejects(awsError('AccessDenied', { status: 403 }));
    const { stream, closed } = endless();
    await expect(store.put('a/b', 'x', stream)).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
    expect(closed()).toBe(true);
  });

  test('aborts the upload with the error of the stream when the stream fails after a part', async () => {
    const partition = freshPartition();
    const { store, sent } = faulty();
    const broken = new Error('broken');
    async function* breaking() {
      yield* pieces(20, MIB);
      throw broken;
    }
    await expect(store.put(partition, 'x', breaking())).rejects.toBe(broken);
    expect(sent.at(-1)).toBe('AbortMultipartUpload');
    expect(await store.open(partition, 'x')).toBeUndefined();
  });

  test('uploads at most three parts at a time', async () => {
    const { mock, store } = mocked();
    let underWay = 0;
    let max = 0;
    mock.on(CreateMultipartUploadCommand).resolves({ UploadId: 'u1' });
    mock.on(UploadPartCommand).callsFake(async () => {
      max = Math.max(max, ++underWay);
      await new Promise(setImmediate);
      underWay--;
      return { ETag: 'e' };
    });
    mock.on(CompleteMultipartUploadCommand).resolves({});
    await store.put('a/b', 'x', pieces(10, 8 * MIB));
    expect(max).toBe(3);
    const [completed] = mock.commandCalls(CompleteMultipartUploadCommand);
    expect(completed?.args[0].input.MultipartUpload?.Parts?.map(({ PartNumber }) => PartNumber)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ]);
  });
});

describe('parts', () => {
  test('hold 5 TiB in 10,000 parts, each within the limits of S3', () => {
    const sizes = Array.from({ length: 10_000 }, (_, n) => partBytes(n + 1));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThanOrEqual(5 * 1024 ** 4);
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(5 * MIB);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5 * 1024 * MIB);
  });

  test('are views of a large chunk', async () => {
    const piece = new Uint8Array(20 * MIB);
    const parts = await all(splitIntoParts([piece]));
    expect(parts.map(({ length }) => length)).toEqual([8 * MIB, 8 * MIB, 4 * MIB]);
    expect(parts.every(({ buffer }) => buffer === piece.buffer)).toBe(true);
  });

  test('cover a copied object exactly once', () => {
    expect([...copyRanges(2 * 1024 * MIB + 1)]).toEqual([
      'bytes=0-1073741823',
      'bytes=1073741824-2147483647',
      'bytes=2147483648-2147483648',
    ]);
  });
});

describe('a copy', () => {
  test('copies in parts what one request cannot copy', async () => {
    const { mock, store } = mocked();
    const message = 'The specified copy source is larger than the maximum allowable size for a copy source: 5368709120';
    mock.on(CopyObjectCommand).rejects(awsError('InvalidRequest', { message }));
    mock.on(HeadObjectCommand).resolves({ ContentLength: 6 * 1024 * MIB });
    mock.on(CreateMultipartUploadCommand).resolves({ UploadId: 'u1' });
    mock.on(UploadPartCopyCommand).resolves({ CopyPartResult: { ETag: 'e' } });
    mock.on(CompleteMultipartUploadCommand).resolves({});
    expect(await store.copy({ partition: 'a/b%20', id: 'x' }, { partition: 'a/c', id: 'y' })).toBe(true);
    const parts = mock.commandCalls(UploadPartCopyCommand).map(({ args }) => args[0].input);
    expect(parts).toHaveLength(6);
    expect(parts[0]).toMatchObject({
      CopySource: 'kept/a/b%2520/x',
      Key: 'a/c/y',
      CopySourceRange: 'bytes=0-1073741823',
    });
    expect(mock.commandCalls(HeadObjectCommand)[0]?.args[0].input.Key).toBe('a/b%20/x');
  });

  test('produces the same bytes in parts', async () => {
    const partition = freshPartition();
    const tooLarge = awsError('InvalidRequest', {
      message: 'The copy source is larger than the maximum allowable size',
    });
    const { store, sent } = faulty(undefined, tooLarge);
    await store.put(partition, 'x', new Uint8Array(6 * MIB).fill(7));
    expect(await store.copy({ partition, id: 'x' }, { partition, id: 'y' })).toBe(true);
    expect(sent).toContain('UploadPartCopy');
    expect((await bytesOf(await store.open(partition, 'y')))?.equals(Buffer.alloc(6 * MIB, 7))).toBe(true);
  });
});

describe('a list', () => {
  test('covers all pages and skips unrelated keys', async () => {
    const { mock, store } = mocked();
    const object = (Key: string) => ({ Key, Size: 3, LastModified: new Date(5) });
    mock
      .on(ListObjectsV2Command)
      .resolvesOnce({ Contents: [object('a/b/1'), object('stray')], NextContinuationToken: 't1' })
      .resolvesOnce({ NextContinuationToken: 't2' })
      .rejectsOnce(awsError('SlowDown', { status: 503 }))
      .resolves({ Contents: [object('a/b/2'), object('a/b/')] });
    expect(await all(store.list('a'))).toEqual([
      { partition: 'a/b', id: '1', size: 3, writtenAt: 5 },
      { partition: 'a/b', id: '2', size: 3, writtenAt: 5 },
    ]);
    const tokens = mock.commandCalls(ListObjectsV2Command).map(({ args }) => args[0].input.ContinuationToken);
    expect(tokens).toEqual([undefined, 't1', 't2', 't2']);
  });

  test('lists and removes more than a page of a thousand keys', async () => {
    const partition = freshPartition();
    const { store, sent } = faulty();
    const ids = Array.from({ length: 1_005 }, (_, n) => `p${String(n).padStart(5, '0')}`);
    for (let at = 0; at < ids.length; at += 100) {
      await Promise.all(ids.slice(at, at + 100).map((id) => store.put(partition, id, new Uint8Array(1))));
    }
    expect(await names(store.list(partition))).toEqual(ids.map((id) => `${partition}/${id}`));
    await store.remove(partition, ids);
    expect(sent.filter((name) => name === 'DeleteObjects')).toHaveLength(2);
    expect(await names(store.list(partition))).toEqual([]);
  });
});

describe('a remove that S3 applies partially', () => {
  const error = (Code: string) => ({ Errors: [{ Key: 'a/b/2', Code, Message: 'told to' }] });

  test('is retried for keys with a transient failure', async () => {
    const { mock, store } = mocked();
    mock.on(DeleteObjectsCommand).resolvesOnce(error('InternalError')).resolvesOnce(error('SlowDown')).resolves({});
    await store.remove('a/b', ['1', '2']);
    expect(mock.commandCalls(DeleteObjectsCommand)).toHaveLength(3);
  });

  test('fails with the key and the missing permission', async () => {
    const { mock, store } = mocked();
    mock.on(DeleteObjectsCommand).resolves(error('AccessDenied'));
    await expect(store.remove('a/b', ['1', '2'])).rejects.toMatchObject({
      code: 'STORAGE_DENIED',
      message: expect.stringMatching(/s3:DeleteObject.*a\/b\/2/),
    });
  });

  test('succeeds when the keys that it could not remove do not exist', async () => {
    const { mock, store } = mocked();
    mock.on(DeleteObjectsCommand).resolves(error('NoSuchKey'));
    await store.remove('a/b', ['2']);
  });
});

describe('a rejected request', () => {
  const runs: [string, string, (store: PayloadStore) => Promise<unknown>][] = [
    ['put', 's3:PutObject', (store) => store.put('a/b', 'x', new Uint8Array(1))],
    ['put in parts', 's3:PutObject', (store) => store.put('a/b', 'x', new Uint8Array(9 * MIB))],
    ['open', 's3:GetObject, s3:ListBucket', (store) => store.open('a/b', 'x')],
    [
      'copy',
      's3:GetObject, s3:PutObject',
      (store) => store.copy({ partition: 'a', id: 'x' }, { partition: 'b', id: 'x' }),
    ],
    ['list', 's3:ListBucket', (store) => names(store.list('a'))],
    ['remove', 's3:DeleteObject', (store) => store.remove('a/b', ['x'])],
  ];

  test.each(runs)('names the missing permissions of `%s`, which are %s', async (_, actions, run) => {
    const { mock, store } = mocked();
    mock.rejects(awsError('AccessDenied', { status: 403 }));
    await expect(run(store)).rejects.toMatchObject({
      code: 'STORAGE_DENIED',
      message: expect.stringContaining(`allow ${actions}`),
    });
  });

  test.each(runs)('throws STORAGE_MISSING from `%s` when the bucket does not exist', async (_name, _actions, run) => {
    const store = s3PayloadStore({ bucket: 'waitstate-not-there', client: s3Client() });
    await expect(run(store)).rejects.toMatchObject({
      code: 'STORAGE_MISSING',
      message: expect.stringContaining('"waitstate-not-there"'),
    });
  });

  test('throws STORAGE_UNAVAILABLE after the last attempt', async () => {
    const { mock, store } = mocked(3);
    mock.on(PutObjectCommand).rejects(awsError('SlowDown', { status: 503 }));
    await expect(store.put('a/b', 'x', new Uint8Array(1))).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    expect(mock.commandCalls(PutObjectCommand)).toHaveLength(3);
  });
});

test('a download that breaks off throws STORAGE_UNAVAILABLE', async () => {
  const { mock, store } = mocked();
  async function* breaking() {
    yield new Uint8Array(3);
    throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
  }
  mock.on(GetObjectCommand).resolves({ Body: breaking() as never });
  await expect(bytesOf(await store.open('a/b', 'x'))).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});

test('a download with other bytes than were stored throws DAMAGED', async () => {
  const partition = freshPartition();
  const { store } = faulty();
  await store.put(partition, 'x', new Uint8Array(100));
  const client = s3Client();
  client.middlewareStack.add(
    (next) => async (args) => {
      const answer = await next(args);
      Object(answer.response).headers['x-amz-checksum-crc32'] = 'AAAAAA==';
      return answer;
    },
    { step: 'deserialize', priority: 'low' },
  );
  const damaged = s3PayloadStore({ bucket, client });
  await expect(damaged.open(partition, 'x').then(bytesOf)).rejects.toMatchObject({ code: 'DAMAGED' });
});
