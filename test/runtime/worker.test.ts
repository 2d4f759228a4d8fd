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
});
