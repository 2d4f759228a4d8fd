import { describe, expect, it } from 'vitest';
import { localKeys } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { type Payload, payload } from '../../lambda/checkpoints/payload.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';
import { noise, randomFrom } from '../faults/seeded.ts';
import { describeOnEachStorage, headIn, headOf, withEventBefore } from './storages.ts';

/** Receives the given number of signals, optionally after an hour of sleep. */
const listener = agent({
  name: 'listener',
  async run(ctx, input: { count: number; sleepsFirst?: boolean }) {
    const got: unknown[] = [];
    if (input.sleepsFirst) await ctx.sleep('first', { hours: 1 });
    for (let i = 0; i < input.count; i++) got.push(await ctx.waitForSignal('go'));
    return got;
  },
});

/** Waits for a signal for at most an hour, and then for the next one. */
const patient = agent({
  name: 'patient',
  async run(ctx) {
    const first = await ctx.waitForSignal('go', { timeout: { hours: 1 } });
    const second = await ctx.waitForSignal('go');
    return [first ?? 'nothing', second];
  },
});

describe('a signal', () => {
  it('is received when it arrives before the run waits for it', async () => {
    const world = testAgents(listener);
    const run = await world.start({ count: 1, sleepsFirst: true }, { id: 'r' });
    expect(await run.signal('go', 'early')).toBe(true);
    expect(await run.status()).toBe('SLEEPING');
    await world.skip({ hours: 1 });
    expect(await run.result()).toEqual(['early']);
  });

  it('is received when it arrives before the run starts', async () => {
    const world = testAgents(listener);
    expect(await world.run('r').signal('go', 'very early')).toBe(true);
    const run = await world.start({ count: 1 }, { id: 'r' });
    expect(await run.result()).toEqual(['very early']);
  });

  it('is kept for seven days for a run that never starts, and then removed', async () => {
    const storage = memoryStorage();
    const world = testAgents(listener, { storage });
    await world.run('soon').signal('go', 'kept');
    await world.run('late').signal('go', 'lost');
    await world.skip({ days: 6, hours: 23 });
    expect(await (await world.start({ count: 1 }, { id: 'soon' })).result()).toEqual(['kept']);
    await world.skip({ hours: 1 });
    expect((await storage.records.range('default/late')).records).toEqual([]);
    const late = await world.start({ count: 1 }, { id: 'late' });
    expect(await late.status()).toBe('WAITING_FOR_SIGNAL');
  });

  it('is received once when it is sent repeatedly with the same id', async () => {
    const world = testAgents(listener);
    expect(await world.run('r').signal('go', 1, { id: 'click' })).toBe(true);
    expect(await world.run('r').signal('go', 1, { id: 'click' })).toBe(false);
    const run = await world.start({ count: 2 }, { id: 'r' });
    expect(await run.signal('go', 1, { id: 'click' })).toBe(false);
    expect(await run.signal('go', 2, { id: 'other click' })).toBe(true);
    expect(await run.result()).toEqual([1, 2]);
  });

  it('is received once when it was sent before the start and again before the first claim', async () => {
    const world = testAgents(listener);
    await world.run('r').signal('go', 1, { id: 'click' });
    await world.agent.start({ count: 2 }, { id: 'r' });
    await world.agent.run('r').signal('go', 1, { id: 'click' });
    await world.settle();
    const run = world.run('r');
    expect(await run.status()).toBe('WAITING_FOR_SIGNAL');
    await run.signal('go', 2);
    expect(await run.result()).toEqual([1, 2]);
  });

  it('wakes the run immediately when it arrives between the last read and the suspend', async () => {
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'WAITING_FOR_SIGNAL');
    const world = testAgents(listener, { storage });
    storage.hook.event = () => world.agent.run('r').signal('go', 'in between');
    const run = await world.start({ count: 1 }, { id: 'r' });
    expect(storage.hook.event).toBeUndefined();
    expect(await run.status()).toBe('SUCCEEDED');
    expect(await run.result()).toEqual(['in between']);
    expect(world.invocations).toHaveLength(1);
  });

  it('is received when it arrives during a claim', async () => {
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'RUNNING');
    const world = testAgents(listener, { storage });
    storage.hook.event = () => world.agent.run('r').signal('go', 'while claimed');
    const run = await world.start({ count: 1 }, { id: 'r' });
    expect(await run.result()).toEqual(['while claimed']);
  });

  it('is not lost when another one is sent at the same time', async () => {
    const world = testAgents(listener);
    const run = await world.start({ count: 2 }, { id: 'r' });
    await Promise.all([world.agent.run('r').signal('go', 'a'), world.agent.run('r').signal('go', 'b')]);
    await world.settle();
    expect((await run.result()).toSorted()).toEqual(['a', 'b']);
  });

  it('is kept for the wait with its name when the run waits for another signal', async () => {
    const both = agent({
      name: 'both',
      run: async (ctx) => [await ctx.waitForSignal('first'), await ctx.waitForSignal('second')],
    });
    const world = testAgents(both);
    const run = await world.start({}, { id: 'r' });
    await run.signal('second', 2);
    await run.signal('third', 3);
    expect(await run.status()).toBe('WAITING_FOR_SIGNAL');
    await run.signal('first', 1);
    expect(await run.result()).toEqual([1, 2]);
  });

  it('is rejected with RUN_ENDED when the run has ended', async () => {
    const world = testAgents(listener);
    const done = await world.start({ count: 0 }, { id: 'done' });
    await expect(done.signal('go')).rejects.toMatchObject({ code: 'RUN_ENDED' });
    const cancelled = await world.start({ count: 1 }, { id: 'cancelled' });
    await cancelled.cancel();
    await expect(cancelled.signal('go')).rejects.toMatchObject({ code: 'RUN_ENDED' });
  });

  it('needs a name, and an id that is text if it has one', async () => {
    const { run } = testAgents(listener);
    await expect(run('r').signal('')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(run('r').signal('x'.repeat(201))).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(run('r').signal('go', 1, { id: '' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('is rejected when it cannot be stored, and nothing is received', async () => {
    const world = testAgents(listener);
    const run = await world.start({ count: 1 }, { id: 'r' });
    await expect(run.signal('go', { f: () => 1 })).rejects.toMatchObject({ code: 'UNSUPPORTED_VALUE' });
    expect(await run.status()).toBe('WAITING_FOR_SIGNAL');
    await run.signal('go', 'fine');
    expect(await run.result()).toEqual(['fine']);
  });
});

describe('signals', () => {
  it('are received in the order in which they were sent, including those sent before the start', async () => {
    const world = testAgents(listener);
    for (let i = 1; i <= 10; i++) await world.run('r').signal('go', i);
    await world.agent.start({ count: 30 }, { id: 'r' });
    for (let i = 11; i <= 20; i++) await world.agent.run('r').signal('go', i);
    await world.settle();
    for (let i = 21; i <= 30; i++) await world.run('r').signal('go', i);
    expect(await world.run('r').result()).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
  });

  it('go to parallel waits of the same name in the order in which the waits started', async () => {
    const three = agent({
      name: 'three',
      run: (ctx) =>
        ctx.map('waits', ['a', 'b', 'c'], async (branch, who) => `${who} got ${await branch.waitForSignal('go')}`),
    });
    const world = testAgents(three);
    const run = await world.start({}, { id: 'r' });
    await run.signal('go', 1);
    await Promise.all([2, 3].map((n) => world.agent.run('r').signal('go', n, { id: `s${n}` })));
    await world.settle();
    const got = (await run.result()).map((text) => text.split(' got '));
    expect(got.map(([who]) => who)).toEqual(['a', 'b', 'c']);
    expect(got[0]?.[1]).toBe('1');
    expect(got.map(([, n]) => n).toSorted()).toEqual(['1', '2', '3']);
  });

  it('are not received by the wait of an abandoned branch', async () => {
    const racing = agent({
      name: 'racing',
      async run(ctx) {
        await ctx.all(
          'race',
          { go: (branch) => branch.waitForSignal('go'), time: (branch) => branch.sleep('time', { hours: 1 }) },
          { minSuccessful: 1 },
        );
        return ctx.waitForSignal('go');
      },
    });
    const world = testAgents(racing);
    const run = await world.start({}, { id: 'r' });
    await world.skip({ hours: 1 });
    expect(await run.status()).toBe('WAITING_FOR_SIGNAL');
    await run.signal('go', 'for the second wait');
    expect(await run.status()).toBe('SUCCEEDED');
    expect(await run.result()).toBe('for the second wait');
  });

  it.each([0, 1, 2, 3, 5, 8, 13])(
    'are not received by a wait whose branch was abandoned %i microtasks after it started',
    async (microtasks) => {
      const racing = agent({
        name: 'racing',
        async run(ctx) {
          const atOnce = async () => {
            for (let i = 0; i < microtasks; i++) await null;
          };
          await ctx.all('race', [(branch) => branch.waitForSignal('go'), atOnce], { minSuccessful: 1 });
          await ctx.step('after', () => 1);
          return ctx.waitForSignal('go');
        },
      });
      const world = testAgents(racing);
      const run = await world.start({}, { id: 'r' });
      await run.signal('go', 'for the second wait');
      expect(await run.result()).toBe('for the second wait');
    },
  );

  it('are not received by a wait of a completed turn', async () => {
    const turning = agent({
      name: 'turning',
      state: { initial: () => ({ turns: 0 }) },
      async turn(ctx, state: { turns: number }) {
        if (state.turns === 1) return ctx.done(await ctx.waitForSignal('go'));
        await Promise.race([ctx.waitForSignal('go'), ctx.sleep('time', { hours: 1 })]);
        return { turns: state.turns + 1 };
      },
    });
    const world = testAgents(turning);
    const run = await world.start({}, { id: 'r' });
    await world.skip({ hours: 1 });
    expect(await run.status()).toBe('WAITING_FOR_SIGNAL');
    await run.signal('go', 'for the second turn');
    expect(await run.result()).toBe('for the second turn');
  });

  it('are each received once and in the order of their sender, despite duplicates and crashes', async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const random = randomFrom(seed);
      const collector = agent({
        name: 'collector',
        async run(ctx) {
          const got: string[] = [];
          for (let i = 0; i < 24; i++) {
            got.push((await ctx.waitForSignal('go')) as string);
            if (i % 3 === 0) await ctx.step('note', () => i);
            if (i % 5 === 0) await ctx.sleep('rest', { minutes: 1 });
          }
          return got;
        },
      });
      const world = testAgents(collector, { deliverTwice: true });
      for (const step of ['note#2', 'note#5', 'note#7']) world.crash({ after: step });
      const left = new Map(['a', 'b', 'c'].map((sender) => [sender, 0]));
      await world.agent.start({}, { id: 'r' });
      while (left.size > 0) {
        const senders = [...left.keys()];
        const sender = senders[Math.floor(random() * senders.length)] ?? 'a';
        const n = (left.get(sender) ?? 0) + 1;
        const send = () => world.agent.run('r').signal('go', `${sender}${n}`, { id: `${sender}${n}` });
        const isNew = await Promise.all(random() < 0.3 ? [send(), send()] : [send()]);
        expect(isNew.filter(Boolean)).toHaveLength(1);
        if (n === 8) left.delete(sender);
        else left.set(sender, n);
        if (random() < 0.5) await world.settle();
        if (random() < 0.3) await world.skip({ minutes: 1 });
      }
      await world.skip({ minutes: 30 });
      const got = await world.run('r').result();
      for (const sender of ['a', 'b', 'c'])
        expect(got.filter((each) => each.startsWith(sender))).toEqual(
          [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `${sender}${n}`),
        );
    }
  });
});

describe('a wait for a signal', () => {
  it('returns undefined when its timeout passes, and the next signal goes to the next wait', async () => {
    const world = testAgents(patient);
    const run = await world.start({}, { id: 'r' });
    await world.skip({ minutes: 59 });
    expect((await run.checkpoints()).at(-1)?.status).toBe('WAITING_FOR_SIGNAL');
    await world.skip({ minutes: 1 });
    await run.signal('go', 'late');
    expect(await run.result()).toEqual(['nothing', 'late']);
  });

  it('receives a signal that arrived before its deadline, however late the run resumes', async () => {
    const world = testAgents(patient);
    const run = await world.start({}, { id: 'r' });
    await world.agent.pause();
    await world.skip({ minutes: 59, seconds: 59 });
    await run.signal('go', 'in time');
    await world.skip({ days: 2 });
    await world.agent.unpause();
    await world.skip({ minutes: 2 });
    await run.signal('go', 'next');
    expect(await run.result()).toEqual(['in time', 'next']);
  });

  it('does not receive a signal that arrives at its deadline or later; the next wait does', async () => {
    const world = testAgents(patient);
    const run = await world.start({}, { id: 'r' });
    await world.agent.pause();
    await world.skip({ hours: 1 });
    await run.signal('go', 'late');
    await world.agent.unpause();
    await world.skip({ minutes: 2 });
    expect(await run.result()).toEqual(['nothing', 'late']);
  });

  it('wakes the run once per signal, and counts the events in the head', async () => {
    const world = testAgents(listener);
    const run = await world.start({ count: 3 }, { id: 'r' });
    await run.signal('go', 1);
    await run.signal('go', 2);
    expect((await headOf(world.agent, 'r')).work?.eventCount).toBe(2);
    await run.signal('go', 3);
    expect(world.invocations.map(({ end }) => end)).toEqual(['suspended', 'suspended', 'suspended', 'finished']);
  });
});

const keys = localKeys({ current: 'k', keys: { k: new Uint8Array(32).fill(7) } });

describe.each([
  ['unencrypted', {}],
  ['encrypted', { keys }],
])('large values and payloads (%s)', (_, options) => {
  const reader = agent({
    name: 'reader',
    async run(ctx) {
      const value = (await ctx.waitForSignal('file')) as { text: string; file: Payload };
      const read = await ctx.step('read', () => value.file.text());
      return { text: value.text.length, read: read.length, same: read === value.text };
    },
  });
  const text = noise('signal', 300_000);
  const expected = { text: 300_000, read: 300_000, same: true };

  it('are received with a signal to a waiting run', async () => {
    const world = testAgents(reader, options);
    const run = await world.start({}, { id: 'r' });
    await run.signal('file', { text, file: payload(text) });
    expect(await run.result()).toEqual(expected);
  });

  it('are received with a signal from before the start', async () => {
    const world = testAgents(reader, options);
    await world.run('r').signal('file', { text, file: payload(text) });
    const run = await world.start({}, { id: 'r' });
    expect(await run.result()).toEqual(expected);
  });

  it('are not removed as orphans before a wait receives them', async () => {
    const late = agent({
      name: 'late',
      async run(ctx) {
        await ctx.sleep('first', { days: 3 });
        return ((await ctx.waitForSignal('file')) as Payload).text();
      },
    });
    const world = testAgents(late, options);
    const run = await world.start({}, { id: 'r' });
    await run.signal('file', payload(text));
    await world.skip({ days: 2 });
    await world.agent.store.collect();
    await world.skip({ days: 1 });
    expect(await run.result()).toBe(text);
  });
});

describeOnEachStorage('signals before, during and after the wait', (open) => {
  it('are each received once and in order', async () => {
    const inner = await open();
    const storage = withEventBefore(inner, (writes) => headIn(writes)?.status === 'WAITING_FOR_SIGNAL');
    const world = testAgents(listener, { storage, deliverTwice: true });
    await world.run('r').signal('go', 'before', { id: 's1' });
    storage.hook.event = () => world.agent.run('r').signal('go', 'between', { id: 's2' });
    const run = await world.start({ count: 5 }, { id: 'r' });
    expect(await run.signal('go', 'between', { id: 's2' })).toBe(false);
    const two = await Promise.all([
      world.agent.run('r').signal('go', 'twice', { id: 's3' }),
      world.agent.run('r').signal('go', 'twice', { id: 's3' }),
    ]);
    expect(two.toSorted()).toEqual([false, true]);
    await world.settle();
    await run.signal('go', { large: noise('large', 50_000) });
    await run.signal('go', 'last');
    const [first, second, third, large, last] = (await run.result()) as { large: string }[];
    expect([first, second, third, last]).toEqual(['before', 'between', 'twice', 'last']);
    expect(large?.large).toHaveLength(50_000);
  });
});
