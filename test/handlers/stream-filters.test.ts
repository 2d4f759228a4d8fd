import { describe, expect, it } from 'vitest';
import { STREAM_FILTERS } from '../../lambda/handlers/stream-filters.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { decide, remind } from '../../lambda/runtime/approvals/decide.ts';
import { matching } from '../engines/matching.ts';
import { type HandlerScene, handlerScene, lambdaContext } from './scene.ts';

const STEPS = 20;

/**
 * Agents that use every kind of operation: steps, a child run, a signal, a sleep, an approval, a failure and an undo.
 */
function agentsIn(scene: HandlerScene) {
  const options = { storage: scene.storage, clock: scene.clock };
  const notified: string[] = [];
  const orders = agent({ name: 'orders', run: async () => 'child' }, options);
  const refunds = agent(
    {
      name: 'refunds',
      notify: ({ approval, kind }) => void notified.push(`${approval} ${kind}`),
      async run(ctx, { mode }: { mode: 'long' | 'fails' | 'waits' }) {
        if (mode === 'fails') throw new Error('no');
        const undoOption = { undo: () => {} };
        if (mode === 'waits') {
          await ctx.step('book', () => 1, undoOption);
          return ctx.waitForSignal('never');
        }
        for (let n = 0; n < STEPS; n++) await ctx.step(`step ${n}`, () => n);
        const child = await ctx.call(orders, undefined);
        const signal = await ctx.waitForSignal('go');
        await ctx.sleep('rest', { hours: 1 });
        const request = { title: 'Pay?', approvers: ['user:ann', 'user:bob'], quorum: 2 } as const;
        const { approved } = await ctx.approval('pay', { ...request, remindAfter: { hours: 1 } });
        return { child, signal, approved };
      },
    },
    options,
  );
  let requests = 0;
  for (const each of [refunds, orders]) {
    const handler = each.handler();
    scene.shared.agents.set(each.name, { function: `${each.name}-fn`, hydrate: false });
    scene.behind.set(`${each.name}-fn`, (event) => handler(event, lambdaContext(`agent-${++requests}`)));
  }
  return { refunds, notified };
}

/** Runs the same scenario each time and returns its outcome. */
async function runScenario(scene: HandlerScene, flow: () => Promise<unknown>) {
  const { refunds, notified } = agentsIn(scene);
  const later = async (milliseconds: number) => {
    scene.clock.moveTo(scene.clock.now() + milliseconds);
    await scene.sweep();
    await flow();
  };
  const long = await refunds.start({ mode: 'long' }, { id: 'long' });
  const waits = await refunds.start({ mode: 'waits' }, { id: 'waits' });
  const fails = await refunds.start({ mode: 'fails' }, { id: 'fails' });
  await flow();
  await long.signal('go', 7);
  await waits.cancel();
  await flow();
  await later(3_600_000);
  await later(3_600_000);
  const at = await scene.contexts.forRun('long');
  await decide(at, { approval: 'pay', answer: 'approve', by: 'user:ann' });
  await remind(at, 'pay');
  await flow();
  await decide(at, { approval: 'pay', answer: 'approve', by: 'user:bob' });
  await flow();
  const { invocations, events } = scene.sent;
  return {
    result: await long.result(),
    statuses: [await long.status(), await waits.status(), await fails.status()],
    invoked: invocations.map(({ event, type }) => `${type} ${event.run === 'long' ? 'long' : '…'} ${event.notify}`),
    published: events.map(({ type, detail }) => `${type} of ${detail.approval ?? 'a run'}`),
    notified,
    counts: Object.fromEntries(scene.counts),
  };
}

describe('the stream filters', () => {
  it('drop only records that no handler acts on, so that the outcome is the same with and without them', async () => {
    const [all, some] = await Promise.all([handlerScene(), handlerScene()]);
    const seen = { records: 0, resume: 0, notify: 0 };
    const filtered = async () => {
      for (;;) {
        const Records = await some.nextRecords();
        if (Records.length === 0 && some.queue.length === 0) return;
        seen.records += Records.length;
        for (const name of ['notify', 'resume'] as const) {
          const passes = matching(STREAM_FILTERS[name]);
          const before = JSON.stringify([some.sent, [...some.counts]]);
          await some[name]({ Records: Records.filter((record) => !passes(record)) });
          expect(JSON.stringify([some.sent, [...some.counts]])).toBe(before);
          const passed = Records.filter(passes);
          seen[name] += passed.length;
          await some[name]({ Records: passed });
        }
        for (const run of some.queue.splice(0)) await run();
      }
    };
    const whole = await runScenario(all, all.flow);
    expect(await runScenario(some, filtered)).toEqual(whole);
    expect(whole.result).toEqual({ child: 'child', signal: 7, approved: true });
    expect(whole.statuses).toEqual(['SUCCEEDED', 'CANCELLED', 'FAILED']);
    expect(whole.notified).toEqual(['pay requested', 'pay reminder', 'pay reminder']);
    // 87 records, of which `resume` receives 19 and `notify` 29.
    expect(seen.records).toBeGreaterThan(3 * STEPS);
    expect(seen.resume / seen.records).toBeLessThan(1 / 4);
    expect(seen.notify / seen.records).toBeLessThan(2 / 5);
  });

  it('drop all records of a run that only saves', async () => {
    const scene = await handlerScene();
    const save = (version: number) =>
      scene.checkpoint({ waitstate: 1, action: 'save', run: 'r', expectedVersion: version, state: { version } });
    await save(0);
    await scene.nextRecords();
    for (let version = 1; version <= 10; version++) await save(version);
    const Records = await scene.nextRecords();
    expect(Records).toHaveLength(10);
    for (const patterns of Object.values(STREAM_FILTERS)) expect(Records.filter(matching(patterns))).toEqual([]);
  });

  it('stay within the limits of Lambda', () => {
    for (const patterns of Object.values(STREAM_FILTERS)) {
      expect(patterns.length).toBeLessThanOrEqual(5);
      for (const pattern of patterns) {
        expect(Object.keys(pattern)).toEqual(['dynamodb']);
        expect(JSON.stringify(pattern).length).toBeLessThanOrEqual(4096);
      }
    }
  });
});
