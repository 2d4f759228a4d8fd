import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { checkpointStore } from '../../lambda/dynamodb.ts';
import { payload } from '../../lambda/index.ts';
import { dynamoClient, freshBucket, freshTable, s3Client } from '../engines/engines.ts';
import { codeBlocks, pages } from './markdown.ts';

const page = pages.find(({ path }) => path.endsWith('storage-on-aws.md')) ?? { path: '', text: '' };

/** The actions that each call needs according to the page. */
function documented(): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, ReadonlySet<string>>();
  const [, table = ''] = page.text.split('## Permissions');
  for (const [, calls = '', onTable = '', onIndexes = '', onBucket = ''] of table.matchAll(
    /^\| (`.*?) \| (.*?) ?\| (.*?) ?\| (.*?) ?\|$/gm,
  )) {
    const cell = (text: string, prefix: string): string[] =>
      quoted(text).flatMap((word) => (found.has(word) ? [...(found.get(word) ?? [])] : [`${prefix}:${word}`]));
    const [index = '', lists = ''] = onIndexes.split('(');
    const actions = [
      ...cell(onTable, 'dynamodb'),
      ...quoted(index).flatMap((action) => quoted(lists).map((list) => `dynamodb:${action} on ${list}`)),
      ...cell(onBucket, 's3'),
    ];
    for (const call of quoted(calls)) found.set(call, new Set(actions));
  }
  return found;
}

const quoted = (text: string): string[] => [...text.matchAll(/`(\w+)`/g)].map(([, word = '']) => word);

interface Sent {
  readonly IndexName?: string;
  readonly TransactItems?: readonly { readonly Put?: unknown }[];
}

const S3_ACTIONS: Readonly<Record<string, readonly string[]>> = {
  CreateMultipartUpload: ['PutObject'],
  UploadPart: ['PutObject'],
  CompleteMultipartUpload: ['PutObject'],
  CopyObject: ['GetObject', 'PutObject'],
  HeadObject: ['GetObject'],
  ListObjectsV2: ['ListBucket'],
  DeleteObjects: ['DeleteObject'],
};

function actionsOf(service: string, command: string, { IndexName, TransactItems }: Sent): readonly string[] {
  if (TransactItems) return TransactItems.map(({ Put }) => (Put ? 'dynamodb:PutItem' : 'dynamodb:DeleteItem'));
  if (service === 's3') return (S3_ACTIONS[command] ?? [command]).map((action) => `s3:${action}`);
  return [`dynamodb:${command}${IndexName ? ` on ${IndexName}` : ''}`];
}

/** A store that records its requests. */
async function watchedStore() {
  const used = new Set<string>();
  const [table, bucket] = await Promise.all([freshTable(), freshBucket()]);
  const [dynamoDBClient, s3] = [dynamoClient(), s3Client()];
  const note = (service: string, command: string | undefined, input: unknown) => {
    for (const action of actionsOf(service, String(command).replace('Command', ''), input as Sent)) used.add(action);
  };
  dynamoDBClient.middlewareStack.add((next, { commandName }) => async (args) => {
    note('dynamodb', commandName, args.input);
    return next(args);
  });
  s3.middlewareStack.add((next, { commandName }) => async (args) => {
    note('s3', commandName, args.input);
    return next(args);
  });
  const time = { passed: 0 };
  const options = { table, bucket, dynamoDBClient, s3Client: s3, clock: () => Date.now() + time.passed };
  const open = () => checkpointStore<{ text: string; file?: unknown }>(options);
  const take = (): ReadonlySet<string> => {
    const taken = new Set(used);
    used.clear();
    return taken;
  };
  return { open, take, time, bucket };
}

const text = () => randomBytes(20_000).toString('hex');
const DAY = 24 * 3_600_000;

describe('the permissions page', () => {
  it('names every action that a call uses', async () => {
    const { open, take, time, bucket } = await watchedStore();
    const store = open();
    const needed = documented();
    const undocumented: string[] = [];
    const seen = new Set<string>();
    const during = async (call: string, work: () => Promise<unknown>): Promise<void> => {
      take();
      await work();
      for (const action of take()) {
        seen.add(action);
        if (!needed.get(call)?.has(action)) undocumented.push(`${call} uses ${action}`);
      }
    };
    const all = async (items: AsyncIterable<unknown>) => {
      for await (const _ of items);
    };

    await during('save', async () => {
      const file = payload(Readable.from([randomBytes(9_000_000)]));
      await store.save({
        run: 'a',
        state: { text: text(), file },
        name: 'start',
        owner: 'o',
        retention: { minutes: 1 },
      });
      await store.save({
        run: 'a',
        expectedVersion: 1,
        state: { text: text() },
        name: 'start',
        moveName: true,
        writeId: 'w',
      });
      await open().save({ run: 'a', expectedVersion: 1, state: { text: '' }, writeId: 'w' });
      await open().save({ run: 'a', expectedVersion: 2, status: 'READY' });
    });
    await during('update', () => open().update('a', (draft) => ({ ...draft, text: text() })));
    await during('load', () =>
      Promise.all([open().load('a'), open().load('a', 1), open().load('a', { name: 'start' })]),
    );
    await during('find', () => open().find('nothing'));
    await during('diff', () => open().diff('a', 1, 2));
    await during('history', () => all(store.history('a')));
    await during('describe', () => store.describe('a'));
    await during('runs', async () => {
      await all(store.runs());
      await all(store.runs({ owner: 'o' }));
    });
    await during('fork', () => open().fork('a', { version: 1 }));
    await during('rewind', () => open().rewind('a', 1));
    await during('undo', () => open().undo('a'));
    await during('redo', () => open().redo('a'));
    await during('verify', () => open().verify('a'));
    await during('prune', () => open().prune('a', { keepLast: 1, keepNamed: false }));
    await during('collect', async () => {
      await s3Client().send(new PutObjectCommand({ Bucket: bucket, Key: 'default/a/abandoned-orphan', Body: 'x' }));
      time.passed = 2 * DAY;
      await store.collect();
      time.passed = 0;
    });
    await during('delete', () => open().delete('a'));
    await during('sweep', async () => {
      await store.save({ run: 'b', name: 'n', state: { text: text() }, retention: { minutes: 1 } });
      take();
      time.passed = DAY;
      await store.sweep();
      time.passed = 3 * DAY;
      await store.sweep();
    });

    expect(undocumented).toEqual([]);
    // Actions that are needed only after a failure do not appear here.
    const shown = new Set([...needed.values()].flatMap((actions) => [...actions]));
    expect([...shown].filter((action) => !seen.has(action))).toEqual(['s3:AbortMultipartUpload']);
  });

  it('shows a role with the permissions that it describes', () => {
    const needed = documented();
    const [policy] = codeBlocks(page).filter(({ code }) => code.includes('"Statement"'));
    const allowed: string[] = JSON.parse(policy?.code ?? '').Statement.flatMap(
      (part: { Action: unknown }) => part.Action,
    );
    for (const call of [
      'save',
      'update',
      'load',
      'find',
      'diff',
      'history',
      'describe',
      'fork',
      'rewind',
      'undo',
      'redo',
    ]) {
      expect(allowed).toEqual(expect.arrayContaining([...(needed.get(call) ?? ['nothing'])]));
    }
    expect(allowed.filter((action) => /Delete/.test(action))).toEqual([]);
  });
});
