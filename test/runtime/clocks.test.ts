import { beforeAll, describe, expect, it } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { runAgents } from '../../lambda/runtime/agent/worker.ts';
import { type Clock, systemClock } from '../../lambda/runtime/clock.ts';
import { sweepDue } from '../../lambda/runtime/control/sweep.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
import { dynamoRecordStore } from '../../lambda/storage/dynamodb/dynamo-records.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { dynamoClient, freshTable } from '../engines/engines.ts';
import { gate, headOf } from './storages.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** How exact a stored time is: the date of a response has seconds, and the machine of the tests may be slow. */
const ERROR_MS = 20 * SECOND;

let table: string;
beforeAll(async () => {
  table = await freshTable();
});

interface Logged {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A process whose clock is ahead of that of the table, over the wire. */
function processAhead(aheadMs: number) {
  const clock: Clock = { now: () => Date.now() + aheadMs, sleep: systemClock.sleep };
  const logged: Logged[] = [];
  let lists = 0;
  const seen = Promise.withResolvers<void>();
  const records = dynamoRecordStore({ table, client: dynamoClient(), clock: () => clock.now() });
  const storage: Storage = {
    payloads: memoryStorage().payloads,
    records: {
      ...records,
      async list(...args) {
        const page = await records.list(...args);
        lists += 1;
        if (lists === 100) seen.resolve();
        return page;
      },
    },
  };
  return {
    clock,
    logged,
    /** Resolves when the process has read enough lists for several sweeps. */
    hasLooked: seen.promise,
    options: {
      storage,
      clock,
      log: (level: string, message: string, fields: Logged['fields']) => void logged.push({ level, message, fields }),
    },
  };
}

let runs = 0;
const freshRun = (name: string): string => `${name}-${++runs}`;

describe('a live lease', () => {
  it.each([
    ['ahead', 10 * MINUTE],
    ['behind', -10 * MINUTE],
  ])('is not taken by a worker whose clock is ten minutes %s, and no step runs twice', async (_, aheadMs) => {
    const id = freshRun('lease');
    const [right, wrong] = [processAhead(0), processAhead(aheadMs)];
    const [started, finish] = [gate(), gate()];
    let executions = 0;
    const definition = {
      name: id,
      run: (ctx: AgentContext) =>
        ctx.step('work', async () => {
          executions += 1;
          started.open();
          await finish.opened;
          return 'done';
        }),
    };
    const holder = agent(definition, right.options);
    await holder.start({}, { id });
    const claimant = { by: 'holder', until: Date.now() + MINUTE };
    const working = holder.invoke({ run: id }, claimant);
    await started.opened;
    const worker = runAgents([agent(definition, wrong.options)], {
      poll: { milliseconds: 10 },
      sweep: { milliseconds: 10 },
    });
    await wrong.hasLooked;
    expect(executions).toBe(1);
    expect((await headOf(holder, id)).work?.lease?.by).toBe('holder');
    finish.open();
    expect(await working).toMatchObject({ end: 'finished', status: 'SUCCEEDED' });
    await worker.stop();
    expect(executions).toBe(1);
  });

  it.each([
    ['ahead', 10 * MINUTE],
    ['behind', -10 * MINUTE],
  ])(
    'is not taken by others, and ends with its function, if the clock of its process is ten minutes %s',
    async (_, by) => {
      const id = freshRun('held');
      const [right, wrong] = [processAhead(0), processAhead(by)];
      const [started, finish] = [gate(), gate()];
      const definition = {
        name: id,
        async run(ctx: AgentContext) {
          await ctx.step('work', async () => {
            started.open();
            await finish.opened;
          });
          return (await ctx.now()).getTime();
        },
      };
      const holder = agent(definition, wrong.options);
      await holder.start({}, { id });
      const working = holder.handler()(
        { run: id, tenant: 'default' },
        { awsRequestId: 'wrong', getRemainingTimeInMillis: () => MINUTE },
      );
      await started.opened;
      const until = (await headOf(holder, id)).work?.lease?.until ?? 0;
      expect(Math.abs(until - Date.now() - MINUTE)).toBeLessThan(ERROR_MS);
      const other = agent(definition, right.options);
      const skipped = await other.invoke({ run: id }, { by: 'other', until: Date.now() + MINUTE });
      expect(skipped).toEqual({ end: 'skipped', reason: 'taken' });
      finish.open();
      expect(await working).toMatchObject({ end: 'finished', status: 'SUCCEEDED' });
      const result = (await other.run(id).result()) as number;
      expect(Math.abs(result - Date.now())).toBeLessThan(ERROR_MS);
    },
  );

  it('is renewed until a time of the storage by a worker whose clock is ten minutes behind', async () => {
    const id = freshRun('renewed');
    const wrong = processAhead(-10 * MINUTE);
    const [started, finish] = [gate(), gate()];
    const run = (ctx: AgentContext) =>
      ctx.step('work', async () => {
        started.open();
        await finish.opened;
      });
    const holder = agent({ name: id, run }, wrong.options);
    await holder.start({}, { id });
    const lease = { milliseconds: 30 * SECOND };
    // Renewal sleeps for a third of the lease; this clock makes it immediate.
    const slept: number[] = [];
    const renewed = gate();
    const quick = agent(
      { name: id, run },
      {
        ...wrong.options,
        clock: {
          now: wrong.clock.now,
          sleep(milliseconds, signal) {
            if (milliseconds !== lease.milliseconds / 3) return wrong.clock.sleep(milliseconds, signal);
            slept.push(milliseconds);
            if (slept.length === 3) renewed.open();
            return wrong.clock.sleep(slept.length < 3 ? 0 : milliseconds, signal);
          },
        },
      },
    );
    const working = quick.invoke({ run: id }, { by: 'wrong', until: wrong.clock.now() + MINUTE, lease });
    await Promise.all([started.opened, renewed.opened]);
    const until = (await headOf(holder, id)).work?.lease?.until ?? 0;
    expect(Math.abs(until - Date.now() - lease.milliseconds)).toBeLessThan(ERROR_MS);
    finish.open();
    expect(await working).toMatchObject({ status: 'SUCCEEDED' });
  });
});

describe('a process whose clock is ten minutes wrong', () => {
  it.each([
    ['ahead of', 10 * MINUTE],
    ['behind', -10 * MINUTE],
  ])('requests approvals with the right deadline when it is %s the storage, and logs one warning', async (text, by) => {
    const id = freshRun('approval');
    const wrong = processAhead(by);
    const asking = agent(
      {
        name: id,
        run: (ctx) => ctx.approval('refund', { title: 'Refund?', approvers: ['user:ann'], timeout: { minutes: 5 } }),
      },
      wrong.options,
    );
    const run = await asking.start({}, { id });
    const claimant = { by: 'wrong', until: wrong.clock.now() + MINUTE };
    expect(await asking.invoke({ run: id }, claimant)).toMatchObject({ end: 'suspended' });
    const [approval] = await run.approvals();
    expect(Math.abs((approval?.deadline?.getTime() ?? 0) - Date.now() - 5 * MINUTE)).toBeLessThan(ERROR_MS);
    // It is pending for a process whose clock is right, which decides it.
    const other = agent({ name: id, run: async () => {} }, processAhead(0).options).run(id);
    await other.decide({ approval: approval?.id ?? '', by: 'user:ann', answer: 'approve' });
    await asking.invoke({ run: id }, claimant);
    expect(wrong.logged).toEqual([
      {
        level: 'warn',
        message: expect.stringMatching(
          new RegExp(
            `^The clock of this process is (59|60)\\d seconds ${text} the clock of the storage; expected less`,
          ),
        ),
        fields: { clockAheadSeconds: expect.any(Number) },
      },
    ]);
  });

  it.each([10 * MINUTE, -10 * MINUTE])(
    'starts a run that times out at the right time when it is %d ms ahead',
    async (by) => {
      const id = freshRun('timeout');
      const starting = agent({ name: id, timeout: { minutes: 5 }, run: async () => {} }, processAhead(by).options);
      await starting.start({}, { id });
      const { deadline = 0, dueAt = 0 } = (await headOf(starting, id)).work ?? {};
      expect(Math.abs(deadline - Date.now() - 5 * MINUTE)).toBeLessThan(ERROR_MS);
      expect(Math.abs(dueAt - Date.now())).toBeLessThan(2 * MINUTE);
    },
  );

  it.each([10 * MINUTE, -10 * MINUTE])(
    'works until shortly before its function ends when it is %d ms ahead',
    async (by) => {
      const id = freshRun('yield');
      const wrong = processAhead(by);
      let executions = 0;
      const looping = agent(
        {
          name: id,
          async run(ctx) {
            while (executions < 500) await ctx.step('work', () => systemClock.sleep(20).then(() => ++executions));
          },
        },
        wrong.options,
      );
      await looping.start({}, { id });
      const end = await looping.invoke({ run: id }, { by: 'wrong', until: wrong.clock.now() + 2_000 });
      expect(end).toMatchObject({ end: 'suspended', continues: true });
      expect(executions).toBeGreaterThan(1);
    },
  );
});

describe('a process whose clock is days ahead', () => {
  it('removes nothing early by a time from before the first response', async () => {
    const { records, payloads } = memoryStorage();
    let reads = 0;
    const DAYS = 48 * HOUR;
    const storage: Storage = {
      payloads,
      records: {
        ...records,
        clockAheadMs: () => (reads === 0 ? undefined : DAYS),
        async range(...args) {
          const page = await records.range(...args);
          reads += 1;
          return page;
        },
      },
    };
    const store = createCheckpointStore(storage, { clock: () => Date.now() + DAYS });
    await payloads.put('default/r', 'x'.repeat(16), new Uint8Array(1));
    expect(await store.collect()).toMatchObject({ payloadsRemoved: 0, failed: [] });
    expect(reads).toBeGreaterThan(0);
    expect(await payloads.open('default/r', 'x'.repeat(16))).toBeDefined();
  });
});

describe('a process whose clock is hours wrong', () => {
  it.each([
    ['ahead of', 3 * HOUR],
    ['behind', -3 * HOUR],
  ])('claims and sweeps nothing when it is %s the storage, and logs one error', async (text, by) => {
    const id = freshRun('refused');
    const [right, wrong] = [processAhead(0), processAhead(by)];
    let executions = 0;
    const run = async () => {
      executions += 1;
    };
    const [working, refusing] = [agent({ name: id, run }, right.options), agent({ name: id, run }, wrong.options)];
    // Started ten minutes ago, so that a sweep has to deliver it.
    await working.with({ clock: { ...right.clock, now: () => Date.now() - 10 * MINUTE } }).start({}, { id });
    const claimant = { by: 'wrong', until: wrong.clock.now() + MINUTE };
    const skipped = { end: 'skipped', reason: 'wrong clock' };
    expect(await refusing.invoke({ run: id }, claimant)).toEqual(skipped);
    const before = await headOf(working, id);
    const report = await sweepDue({ runtime: refusing.runtime });
    expect(report).toMatchObject({ delivered: 0, timedOut: 0, expired: 0, failed: [] });
    const worker = runAgents([refusing], { poll: { milliseconds: 10 }, sweep: { milliseconds: 10 } });
    await wrong.hasLooked;
    await worker.stop();
    expect(await headOf(working, id)).toEqual(before);
    expect(executions).toBe(0);
    expect(wrong.logged).toEqual([
      {
        level: 'error',
        message: expect.stringMatching(
          new RegExp(
            `is 1\\d{4} seconds ${text} the clock of the storage; expected less than 900 seconds. This process claims no run`,
          ),
        ),
        fields: { clockAheadSeconds: expect.any(Number) },
      },
    ]);
    await sweepDue({ runtime: working.runtime });
    expect((await headOf(working, id)).work?.deliveries).toBe(1);
    expect(await working.invoke({ run: id }, { by: 'right', until: Date.now() + MINUTE })).toMatchObject({
      status: 'SUCCEEDED',
    });
  });
});
