import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { runAgents } from '../../lambda/runtime/agent/worker.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { headOf } from './storages.ts';

describe('a worker', () => {
  it('leaves a run that waits for newer code to the sweeper, which delivers it less and less often', async () => {
    const storage = memoryStorage();
    const at = (version: number) =>
      agent(
        {
          name: 'chat',
          state: { version, initial: () => ({}), migrations: version > 1 ? { 1: (state: object) => state } : {} },
          run: (ctx) => ctx.waitForSignal('go'),
        },
        { storage, log: () => {} },
      );
    const newer = runAgents([at(2)], { poll: { milliseconds: 5 } });
    const run = await at(2).start(null, { id: 'chat-1' });
    await run.until('WAITING_FOR_SIGNAL', { timeout: { seconds: 30 } });
    await newer.stop();

    const older = runAgents([at(1)], { poll: { milliseconds: 5 } });
    onTestFinished(() => older.stop());
    await run.signal('go', 'gone');
    await expect
      .poll(async () => (await headOf(at(2), 'chat-1')).work?.parkedReason, { timeout: 30_000 })
      .toBeDefined();
    await pause(300);
    expect((await headOf(at(2), 'chat-1')).work?.deliveries).toBe(1);
  });

  it('claims with an id that no other worker has, even if process id and time are the same', async () => {
    const storage = memoryStorage();
    const claimants: string[] = [];
    const clock = { now: () => 0, sleep: (ms: number) => pause(Math.min(ms, 5)) };
    const idle = agent({ name: 'idle', run: async () => {} }, { storage, clock });
    await idle.start(null, { id: 'run-1' });
    const observed: typeof idle = {
      ...idle,
      invoke: async (_, { by }) => {
        claimants.push(by);
        return { end: 'skipped', reason: 'taken' };
      },
    };
    const workers = [runAgents([observed]), runAgents([observed])];
    await expect.poll(() => new Set(claimants).size, { timeout: 20_000 }).toBe(2);
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  it('logs what it could not sweep', async () => {
    const logged: unknown[] = [];
    const asking = agent(
      {
        name: 'asking',
        notify: () => {
          throw new Error('The mail server did not respond.');
        },
        run: (ctx) => ctx.approval('go', { title: 'Go?', approvers: ['user:ann'] }),
      },
      { storage: memoryStorage(), log: (...entry) => void logged.push(entry) },
    );
    const worker = runAgents([asking], { poll: { milliseconds: 5 }, sweep: { milliseconds: 5 } });
    onTestFinished(() => worker.stop());
    await asking.start(null, { id: 'run-1' });
    const fields = { tenant: 'default', run: 'run-1', error: 'Error: The mail server did not respond.' };
    const entry = ['error', 'A run could not be swept. The next sweep retries it.', fields];
    await expect.poll(() => logged, { timeout: 20_000 }).toContainEqual(entry);
  });

  it('notifies the approvers of its agents at once, even if workers of other agents sweep more often', async () => {
    const storage = memoryStorage();
    const notified: string[] = [];
    const asking = agent(
      {
        name: 'asking',
        notify: async ({ run }) => void notified.push(run),
        run: (ctx) => ctx.approval('go', { title: 'Go?', approvers: ['user:ann'] }),
      },
      { storage },
    );
    const other = agent({ name: 'other', run: async () => {} }, { storage });
    const others = runAgents([other], { sweep: { milliseconds: 5 } });
    const worker = runAgents([asking], { poll: { milliseconds: 5 }, sweep: { milliseconds: 100 } });
    onTestFinished(async () => void (await Promise.all([others.stop(), worker.stop()])));
    const ids = Array.from({ length: 30 }, (_, i) => `run-${i}`);
    for (const id of ids) await asking.start(null, { id });
    await expect.poll(() => notified.toSorted(), { timeout: 20_000 }).toEqual(ids.toSorted());
  });
});
