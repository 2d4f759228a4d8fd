import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AttributeValue, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
import { dynamoRecordStore } from '../../lambda/storage/dynamodb/dynamo-records.ts';
import type { TransactItem } from '../../lambda/storage/dynamodb/transact/transact-items.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { testAgents } from '../../lambda/testing.ts';
import { awsStorage, dynamoClient, freshTable } from '../engines/engines.ts';

const client = dynamoClient();
let storage: Storage;
let seats: string;

beforeAll(async () => {
  storage = await awsStorage();
  seats = await freshTable(client);
});

const keyOf = (seat: string) => ({ pk: `seats of ${inject('testRun')}`, sk: seat });

const rawKeyOf = (seat: string) => ({ pk: { S: keyOf(seat).pk }, sk: { S: seat } });

const book = (seat: string, by: string) => ({
  Put: {
    TableName: seats,
    Item: { ...keyOf(seat), by },
    ConditionExpression: 'attribute_not_exists(pk)',
  },
});

const bookRaw = (seat: string, by: string) => ({
  Put: {
    TableName: seats,
    Item: { ...rawKeyOf(seat), by: { S: by } },
    ConditionExpression: 'attribute_not_exists(pk)',
  },
});

/** The attribute values of a row, as they are stored. */
async function rowOf(seat: string): Promise<Record<string, AttributeValue> | undefined> {
  const read = new GetItemCommand({ TableName: seats, Key: rawKeyOf(seat), ConsistentRead: true });
  return (await client.send(read)).Item;
}

const whoHas = async (seat: string): Promise<string | undefined> => (await rowOf(seat))?.by?.S;

const transacting = <T>(run: (ctx: AgentContext, seat: string) => Promise<T>) =>
  agent({ name: 'transacting', transact: true, run }, { storage });

describe('transact', () => {
  it('commits the rows of the user together with the checkpoint', async () => {
    let missing = true;
    const commits: number[] = [];
    const watched: Storage = {
      ...storage,
      records: {
        ...storage.records,
        async commit(writes) {
          if (writes.some((write) => 'foreign' in write)) commits.push(writes.length);
          await storage.records.commit(writes);
        },
      },
    };
    const world = testAgents(
      transacting(async (ctx, seat) => {
        const booked = await ctx.step(
          'book',
          async () => {
            missing &&= (await whoHas(seat)) === undefined;
            return { seat };
          },
          { transact: (result) => [book(result.seat, ctx.run)] },
        );
        return [booked.seat, await whoHas(seat)];
      }),
      { storage: watched },
    );
    const run = await world.start('1A', { id: 'run-1a' });
    expect(await run.result()).toEqual(['1A', 'run-1a']);
    expect(missing).toBe(true);
    // One write for the checkpoint and one for the row.
    expect(commits).toEqual([2]);
  });

  it.each([
    ['before the step', 'before'],
    ['after the step', 'after'],
    ['after the record', 'recorded'],
  ] as const)('books once when the process crashes %s', async (_, moment) => {
    const seat = `crash-${moment}`;
    const world = testAgents(
      transacting((ctx) => ctx.step('book', () => seat, { transact: (name) => [book(name, ctx.run)] })),
      { storage },
    );
    world.crash({ [moment]: 'book' });
    const run = await world.start(seat, { id: `run-${seat}` });
    expect(await run.result()).toBe(seat);
    expect(await whoHas(seat)).toBe(`run-${seat}`);
  });

  it('fails the step with the condition that failed, and records no result', async () => {
    let calls = 0;
    const seen: string[] = [];
    const world = testAgents(
      transacting(async (ctx, seat) => {
        try {
          return await ctx.step(
            'book',
            () => {
              calls += 1;
              return seat;
            },
            { transact: (name) => [book(`${name} beside`, ctx.run), book(name, ctx.run)] },
          );
        } catch (error) {
          seen.push((error as { code: string }).code, (error as Error).message);
          return await ctx.step('other', () => 'took another');
        }
      }),
      { storage },
    );
    const first = await world.start('2B', { id: 'run-2b' });
    expect(await first.result()).toBe('2B');
    world.crash({ after: 'other' });
    const second = await world.start('2B', { id: 'run-2b-late' });
    expect(await second.result()).toBe('took another');
    expect(await whoHas('2B')).toBe('run-2b');
    expect(calls).toBe(2);
    expect(seen[0]).toBe('CONDITION_FAILED');
    expect(seen[1]).toMatch(
      /^Step "book" failed, and nothing was written: the condition of transact\[0\], transact\[1\] did not hold/,
    );
    expect(seen.slice(2)).toEqual(seen.slice(0, 2));
    const results = (await second.checkpoints()).at(-1)?.toolResults.book;
    expect(results).toHaveProperty('error');
    expect(results).not.toHaveProperty('value');
  });

  it('fails only the step whose condition failed among steps that finish together', async () => {
    const one = testAgents(
      transacting((ctx, seat) => ctx.step('book', () => seat, { transact: (name) => [book(name, ctx.run)] })),
      { storage },
    );
    expect(await (await one.start('3A', { id: 'taken' })).result()).toBe('3A');
    const all = testAgents(
      transacting((ctx) =>
        ctx.map('seats', ['3D', '3A', '3E', '3D'], (branch, seat) =>
          branch
            .step('book', () => seat, { transact: (name) => [book(name, ctx.run)] })
            .catch((error: { code: string }) => error.code),
        ),
      ),
      { storage },
    );
    const run = await all.start('', { id: 'three' });
    expect(await run.result()).toEqual(['3D', 'CONDITION_FAILED', '3E', 'CONDITION_FAILED']);
    expect([await whoHas('3D'), await whoHas('3E')]).toEqual(['three', 'three']);
  });

  it('accepts plain items for all four kinds of writes, with their keys and expression values', async () => {
    const at = (seat: string) => ({ TableName: seats, Key: keyOf(seat) });
    const world = testAgents(
      transacting((ctx) =>
        ctx.step('move', () => ({ price: 12.5, tags: new Set(['window']), S: 'x' }), {
          transact: ({ price, tags, S }) => [
            {
              Put: {
                TableName: seats,
                Item: { ...keyOf('4A'), by: ctx.run, price, tags, map: { S }, note: undefined },
              },
            },
            {
              Update: {
                ...at('4B'),
                UpdateExpression: 'SET #by = :run ADD moves :n',
                ExpressionAttributeNames: { '#by': 'by' },
                ExpressionAttributeValues: { ':run': ctx.run, ':n': 1 },
              },
            },
            { Delete: { ...at('4C'), ConditionExpression: '#by = :by', ...byIs('before') } },
            { ConditionCheck: { ...at('4D'), ConditionExpression: '#by = :by', ...byIs('before') } },
          ],
        }),
      ),
      { storage },
    );
    const byIs = (by: string) => ({
      ExpressionAttributeNames: { '#by': 'by' },
      ExpressionAttributeValues: { ':by': by },
    });
    const before = testAgents(
      transacting((ctx) =>
        ctx.step('book', () => ['4C', '4D'], { transact: (names) => names.map((name) => book(name, ctx.run)) }),
      ),
      { storage },
    );
    await (await before.start('', { id: 'before' })).result();
    await (await world.start('', { id: 'moves' })).result();
    // A plain `{ S: 'x' }` is a map: nothing is guessed by its shape.
    expect(await rowOf('4A')).toEqual({
      ...rawKeyOf('4A'),
      by: { S: 'moves' },
      price: { N: '12.5' },
      tags: { SS: ['window'] },
      map: { M: { S: { S: 'x' } } },
    });
    expect(await rowOf('4B')).toEqual({ ...rawKeyOf('4B'), by: { S: 'moves' }, moves: { N: '1' } });
    expect(await rowOf('4C')).toBeUndefined();
    const again = await world.start('', { id: 'moves-again' });
    await expect(again.result()).rejects.toThrow(/the condition of transact\[2\] did not hold/);
    expect((await rowOf('4B'))?.moves).toEqual({ N: '1' });
  });

  it('accepts attribute values in `transactRaw`, alone and together with plain items', async () => {
    const world = testAgents(
      transacting((ctx, seat) =>
        ctx.step('book', () => seat, {
          ...(seat !== 'raw' && { transact: (name) => [book(`${name} plain`, ctx.run)] }),
          transactRaw: (name) => [bookRaw(name, ctx.run)],
        }),
      ),
      { storage },
    );
    await (await world.start('raw', { id: 'alone' })).result();
    await (await world.start('both', { id: 'both' })).result();
    expect([await whoHas('raw'), await whoHas('both'), await whoHas('both plain')]).toEqual(['alone', 'both', 'both']);
    const late = await world.start('raw', { id: 'late' });
    await expect(late.result()).rejects.toThrow(/the condition of transactRaw\[0\] did not hold/);
    const mixed = testAgents(
      transacting((ctx) =>
        ctx.step('book', () => 'both', {
          transact: () => [book('both free', ctx.run)],
          transactRaw: (name) => [bookRaw(name, ctx.run)],
        }),
      ),
      { storage },
    );
    await expect((await mixed.start('')).result()).rejects.toThrow(/the condition of transactRaw\[0\] did not hold/);
    expect(await whoHas('both free')).toBeUndefined();
  });

  it.each([
    [
      'a value that DynamoDB cannot store',
      'UNSUPPORTED_VALUE',
      (seat: string) => [
        book(seat, 'x'),
        { Put: { TableName: seats, Item: { ...keyOf(`${seat}+`), paid: { at: Number.NaN } } } },
      ],
      /`transact\[1\].Put.Item.paid.at` is NaN, which DynamoDB cannot store. Use a finite number or null/,
    ],
    [
      'two writes to one item',
      'INVALID_INPUT',
      // With a condition on both, DynamoDB Local checks the second one on the first write, which DynamoDB does not do.
      (seat: string) => [book(seat, 'x'), { Put: { TableName: seats, Item: { ...keyOf(seat), by: 'y' } } }],
      /rejected the request. AWS says: .*multiple operations on one item/,
    ],
    [
      'an item without a key of its table',
      'INVALID_INPUT',
      (seat: string) => [book(seat, 'x'), { Put: { TableName: seats, Item: { pk: seat } } }],
      // As DynamoDB words it, and as DynamoDB Local does.
      /rejected the request. AWS says: .*(Missing the key sk|required keys was not given a value)/,
    ],
    [
      'an item that is too large',
      'RECORD_TOO_LARGE',
      (seat: string) => [book(seat, 'x'.repeat(410_000))],
      /at most 409600 bytes/,
    ],
    [
      'a nested item that is too large',
      'RECORD_TOO_LARGE',
      (seat: string) => [{ Put: { TableName: seats, Item: { ...keyOf(seat), list: ['x'.repeat(410_000)] } } }],
      /Item size has exceeded/,
    ],
    [
      'a promise',
      'AGENT_MISUSED',
      (async () => []) as never,
      /`transact` must return an array; found a promise. Await/,
    ],
    [
      'a value that is not an array',
      'AGENT_MISUSED',
      (() => 1) as never,
      /`transact` must return an array; found number/,
    ],
  ] satisfies [string, string, (seat: string) => readonly TransactItem[], RegExp][])(
    'fails only the step, without a retry and with its result, for %s',
    async (_, code, transact, message) => {
      const seat = `refused-${code}-${message.source.length}`;
      let calls = 0;
      const failures: unknown[] = [];
      const world = testAgents(
        transacting(async (ctx) => {
          const outcomes = await ctx.all('both', {
            book: (branch) =>
              branch
                .step(
                  'book',
                  () => {
                    calls += 1;
                    return { seat };
                  },
                  { transact: (result) => transact(result.seat) },
                )
                .catch((error: Error) => {
                  failures.push(error);
                  return 'refused';
                }),
            other: (branch) => branch.step('other', () => 'recorded'),
          });
          return ctx.step('last', () => outcomes);
        }),
        { storage },
      );
      world.crash({ after: 'last' });
      const run = await world.start('', { id: seat });
      expect(await run.result()).toEqual({ book: 'refused', other: 'recorded' });
      expect(calls).toBe(1);
      // The second failure is replayed from the journal.
      expect(failures).toHaveLength(2);
      for (const failure of failures)
        expect(failure).toMatchObject({ code, message: expect.stringMatching(message), result: { seat } });
      expect(await rowOf(seat)).toBeUndefined();
      expect(world.invocations.filter(({ end }) => end === 'failed')).toHaveLength(1);
    },
  );

  it('names its tables when one of them is missing', async () => {
    const world = testAgents(
      transacting((ctx) => {
        const { Put } = book('7A', ctx.run);
        return ctx.step('book', () => 1, { transact: () => [{ Put: { ...Put, TableName: 'missing-seats' } }] });
      }),
      { storage },
    );
    const run = await world.start('');
    expect(await run.status()).toBe('FAILED');
    expect(world.invocations[0]).toMatchObject({
      end: 'failed',
      error: {
        code: 'STORAGE_MISSING',
        message: expect.stringMatching(/The same transaction writes to missing-seats, by `transact` of step "book"/),
      },
    });
  });

  it('refuses a plain value in `transactRaw`', async () => {
    const world = testAgents(
      transacting((ctx, seat) =>
        ctx.step('book', () => seat, { transactRaw: (name) => [book(name, ctx.run) as never] }),
      ),
      { storage },
    );
    await expect((await world.start('8A')).result()).rejects.toThrow(
      /`transactRaw\[0\].Put.Item.pk` must be an attribute value, such as { S: 'x' }; found "seats of .*Use `transact` for plain values/,
    );
    expect(await whoHas('8A')).toBeUndefined();
  });

  it('counts the items of `transact` and `transactRaw` together', async () => {
    const world = testAgents(
      transacting((ctx) =>
        ctx.step('book', () => 45, {
          transact: (n) => Array.from({ length: n }, (_, i) => book(`total ${i}`, ctx.run)),
          transactRaw: (n) => Array.from({ length: n + 1 }, (_, i) => bookRaw(`total raw ${i}`, ctx.run)),
        }),
      ),
      { storage },
    );
    await expect((await world.start('')).result()).rejects.toThrow(/at most 90 items in total; found 91/);
    expect([await whoHas('total 0'), await whoHas('total raw 0')]).toEqual([undefined, undefined]);
  });

  it('accepts 90 items and rejects 91, without writing any', async () => {
    const world = testAgents(
      transacting((ctx, count) =>
        ctx
          .step('book', () => Number(count), {
            transact: (n) => Array.from({ length: n }, (_, i) => book(`${n} of ${i}`, ctx.run)),
          })
          .catch((error: Error) => error.message),
      ),
      { storage },
    );
    expect(await (await world.start('90')).result()).toBe(90);
    expect(await whoHas('90 of 89')).toBeDefined();
    expect(await (await world.start('91')).result()).toMatch(/must return at most 90 items in total; found 91/);
    for (const i of [0, 89, 90]) expect(await whoHas(`91 of ${i}`)).toBeUndefined();
  });

  it('accepts more than 90 items in total from steps that finish together', async () => {
    const world = testAgents(
      transacting((ctx) =>
        ctx.map('rows', [0, 1, 2, 3], (branch, row) =>
          branch.step('book', () => row, {
            transact: () => Array.from({ length: 60 }, (_, i) => book(`row ${row} seat ${i}`, ctx.run)),
          }),
        ),
      ),
      { storage },
    );
    expect(await (await world.start('', { id: 'rows' })).result()).toEqual([0, 1, 2, 3]);
    for (const row of [0, 1, 2, 3]) expect(await whoHas(`row ${row} seat 59`)).toBe('rows');
  });

  it('is rejected when the agent is defined on another storage', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'waitstate-'));
    const embedded = embeddedStorage({ folder });
    try {
      for (const other of [memoryStorage(), embedded])
        expect(() => agent({ name: 'x', transact: true, run: async () => {} }, { storage: other })).toThrow(
          /`transact: true`, which only DynamoDB storage supports/,
        );
    } finally {
      await embedded.records.close();
      await rm(folder, { recursive: true });
    }
  });

  it.each(['transact', 'transactRaw'])(
    'is rejected at the call when the agent has no `transact: true` and the step has `%s`',
    async (option) => {
      const silent = agent(
        { name: 'silent', run: (ctx) => ctx.step('book', () => 1, { [option]: () => [book('9Z', 'x')] }) },
        { storage },
      );
      const run = await testAgents(silent, { storage }).start({});
      expect(await run.status()).toBe('FAILED');
      await expect(run.result()).rejects.toThrow(`has \`${option}\`, which needs \`transact: true\` on the agent`);
      expect(await whoHas('9Z')).toBeUndefined();
    },
  );

  it('is refused, and nothing is written, when it names the table of the store, by its name or its ARN', async () => {
    const table = await freshTable(client);
    const own: Storage = { ...storage, records: dynamoRecordStore({ table, client }) };
    const arn = `arn:aws:dynamodb:eu-central-1:123456789012:table/${table}`;
    const ownItem = (name: string) => ({ Put: { ...book('9A', 'nobody').Put, TableName: name } });
    const ownRaw = (name: string) => ({ Delete: { TableName: name, Key: rawKeyOf('9A') } });
    const options = [
      { transact: () => [book('9B', 'nobody'), ownItem(table)] },
      { transact: () => [ownItem(arn)] },
      { transactRaw: () => [ownRaw(table)] },
      { transactRaw: () => [ownRaw(arn)] },
    ];
    const world = testAgents(
      agent(
        {
          name: 'transacting',
          transact: true,
          run: async (ctx) => {
            const errors: unknown[] = [];
            for (const [i, each] of options.entries())
              await ctx
                .step(`write ${i}`, () => i, each)
                .catch(({ code, message, result }) => {
                  errors.push({ code, message, result });
                });
            return errors;
          },
        },
        { storage: own },
      ),
      { storage: own },
    );
    const refused = (path: string, name: string, result: number) => ({
      code: 'INVALID_INPUT',
      message: expect.stringContaining(`\`${path}.TableName\` must be a table of your own; found "${name}"`),
      result,
    });
    expect(await (await world.start('')).result()).toEqual([
      refused('transact[1].Put', table, 0),
      refused('transact[0].Put', arn, 1),
      refused('transactRaw[0].Delete', table, 2),
      refused('transactRaw[0].Delete', arn, 3),
    ]);
    expect(await whoHas('9B')).toBeUndefined();
  });
});
