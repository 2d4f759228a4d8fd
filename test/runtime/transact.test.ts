import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
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

const keyOf = (seat: string) => ({ pk: { S: `seats of ${inject('testRun')}` }, sk: { S: seat } });

const book = (seat: string, by: string) => ({
  Put: {
    TableName: seats,
    Item: { ...keyOf(seat), by: { S: by } },
    ConditionExpression: 'attribute_not_exists(pk)',
  },
});

async function whoHas(seat: string): Promise<string | undefined> {
  const { Item } = await client.send(new GetItemCommand({ TableName: seats, Key: keyOf(seat), ConsistentRead: true }));
  return Item?.by?.S;
}

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

  it.each(['before', 'after', 'recorded'] as const)('books once when the process crashes (%s)', async (moment) => {
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
    expect(seen[1]).toMatch(/The condition of `transact` item .*1 of step "book" failed/);
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
    expect(await (await world.start('91')).result()).toMatch(/must return an array of at most 90 items; found 91/);
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

  it('is rejected at the call when the agent has no `transact: true`', async () => {
    const silent = agent(
      { name: 'silent', run: (ctx) => ctx.step('book', () => 1, { transact: () => [book('9Z', 'x')] }) },
      { storage },
    );
    const run = await testAgents(silent, { storage }).start({});
    expect(await run.status()).toBe('FAILED');
    await expect(run.result()).rejects.toThrow(/which needs `transact: true` on the agent/);
    expect(await whoHas('9Z')).toBeUndefined();
  });
});
