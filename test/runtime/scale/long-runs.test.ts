import { setImmediate as tick } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { agent } from '../../../lambda/runtime/agent/agent.ts';
import { memoryStorage } from '../../../lambda/storage/memory.ts';
import { repeats } from '../../deep.ts';
import { noise, randomFrom } from '../../faults/seeded.ts';
import { type Counts, countingStorage } from './counted.ts';
import { inColdProcess, invoke } from './process.ts';

const STEPS = 5_000;
const LENGTH = 1_200;
const WINDOW = 100;
const TURNS = repeats(300, 1_000);
const SIGNALS = repeats(300, 1_000);

const inWords = (count: number, things: string) => `${count.toLocaleString('en')} ${things}`;

describe('a run of 5,000 steps', () => {
  test('pays as much for a late step as for an early one, and resumes with a few reads', async () => {
    const storage = countingStorage(memoryStorage());
    const windows: Counts[] = [];
    const scribe = agent({
      name: 'scribe',
      async run(ctx) {
        let length = 0;
        for (let i = 0; i < STEPS; i++) {
          const text = await ctx.step('write', () => noise(i, LENGTH));
          length += text.length;
          if ((i + 1) % WINDOW === 0) windows.push(storage.since());
        }
        await ctx.waitForSignal('end');
        return length;
      },
    });
    await inColdProcess(scribe, storage).start(null, { id: 'run' });
    await invoke(inColdProcess(scribe, storage), 'run');
    const [, early, ...later] = windows as [Counts, Counts, ...Counts[]];
    for (const window of later) {
      expect([window.commits, window.recordsWritten]).toEqual([WINDOW, WINDOW]);
      expect([window.reads, window.ranges, window.opens]).toEqual([0, 0, 0]);
      expect(Math.abs(window.bytesWritten / early.bytesWritten - 1)).toBeLessThan(0.1);
    }
    // Snapshots are rare, and in total a few times the size of the content.
    const content = STEPS * LENGTH * 0.75;
    expect(storage.counts.puts).toBeLessThan(50);
    expect(storage.counts.payloadBytesWritten).toBeLessThan(5 * content);

    await inColdProcess(scribe, storage).run('run').signal('end');
    storage.since();
    windows.length = 0;
    expect(await invoke(inColdProcess(scribe, storage), 'run')).toMatchObject({ end: 'finished', status: 'SUCCEEDED' });
    // The replay needs only the reads of the claim: the head, a page of records, events and early signals.
    const [resume] = windows as [Counts];
    expect(resume.reads + resume.ranges).toBeLessThanOrEqual(4);
    expect(resume.opens).toBeLessThanOrEqual(9);
    expect(resume.bytesRead).toBeLessThan(256 * 1024);
    expect(resume.payloadBytesRead).toBeLessThan(2 * content);
    expect(resume.commits).toBe(1);
    expect(windows.slice(1).every((window) => window.commits + window.reads + window.ranges === 0)).toBe(true);
    expect(await inColdProcess(scribe, storage).run('run').result()).toBe(STEPS * LENGTH);
  });
});

describe('a run of 1,000 parallel steps', () => {
  test('shares writes, in whatever order its steps complete, and gets every result', async () => {
    const storage = countingStorage(memoryStorage());
    const random = randomFrom(5);
    // Some complete at once, others later in any order.
    const delays = Array.from({ length: 1_000 }, () => Math.floor(random() * 20));
    let done = 0;
    const crowd = agent({
      name: 'crowd',
      async run(ctx) {
        const results = await ctx.map('ask', delays, (branch, delay, i) =>
          branch.step('answer', async () => {
            for (let ticks = 0; ticks < delay; ticks++) await tick();
            done += 1;
            return { i, text: noise(i, 100) };
          }),
        );
        await ctx.waitForSignal('end');
        return results.map(({ i, text }) => (text === noise(i, 100) ? i : -1));
      },
    });
    await inColdProcess(crowd, storage).start(null, { id: 'run' });
    await invoke(inColdProcess(crowd, storage), 'run');
    expect(storage.counts.commits).toBeLessThan(60);
    await inColdProcess(crowd, storage).run('run').signal('end');
    await invoke(inColdProcess(crowd, storage), 'run');
    expect(await inColdProcess(crowd, storage).run('run').result()).toEqual(delays.map((_, i) => i));
    expect(done).toBe(delays.length);
    expect((await inColdProcess(crowd, storage).store.verify('run')).problems).toEqual([]);
  });
});

describe(`a run of ${inWords(TURNS, 'turns')}`, () => {
  test('reads as much to resume as a run of 10 turns', async () => {
    const storage = countingStorage(memoryStorage());
    const chat = agent({
      name: 'chat',
      state: { initial: () => ({ turn: 0, messages: [] as string[] }) },
      async turn(ctx, state) {
        const text = (await ctx.waitForSignal('say')) as string;
        const answer = await ctx.step('answer', () => noise(`answer ${text}`, 300));
        if (state.turn === TURNS - 1) return ctx.done(state.turn + 1);
        return { turn: state.turn + 1, messages: [...state.messages, text, answer].slice(-20) };
      },
    });
    await inColdProcess(chat, storage).start(null, { id: 'run' });
    await invoke(inColdProcess(chat, storage), 'run');
    const resumes: Counts[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      await inColdProcess(chat, storage).run('run').signal('say', noise(turn, 300));
      storage.since();
      await invoke(inColdProcess(chat, storage), 'run');
      resumes.push(storage.since());
    }
    expect(await inColdProcess(chat, storage).run('run').result()).toBe(TURNS);
    // From the tenth turn on, the state has its maximum size.
    const maxOf = (counts: readonly Counts[], field: keyof Counts) => Math.max(...counts.map((each) => each[field]));
    const early = resumes.slice(10, 110);
    for (const field of ['reads', 'ranges', 'opens', 'commits', 'recordsWritten'] as const) {
      expect(maxOf(resumes.slice(110), field), field).toBeLessThanOrEqual(maxOf(early, field));
    }
    for (const field of ['bytesRead', 'payloadBytesRead', 'bytesWritten'] as const) {
      expect(maxOf(resumes.slice(110), field), field).toBeLessThanOrEqual(1.1 * maxOf(early, field));
    }
  });
});

describe(`a run with ${inWords(SIGNALS, 'signals')}`, () => {
  test('reads each of them once', async () => {
    const storage = countingStorage(memoryStorage());
    const sum = agent({
      name: 'sum',
      async run(ctx) {
        let total = 0;
        for (let i = 0; i < SIGNALS; i++) total += Number(await ctx.waitForSignal('add'));
        return total;
      },
    });
    const sender = inColdProcess(sum, storage);
    await sender.start(null, { id: 'run' });
    for (let i = 0; i < SIGNALS; i++) await sender.run('run').signal('add', i);
    storage.since();
    expect(await invoke(inColdProcess(sum, storage), 'run')).toMatchObject({ status: 'SUCCEEDED' });
    expect(storage.since().recordsRead).toBeLessThan(SIGNALS + 10);
    expect(await sender.run('run').result()).toBe((SIGNALS * (SIGNALS - 1)) / 2);
  });
});
