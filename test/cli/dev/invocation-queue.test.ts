import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { createInvocationQueue, type NextAction } from '../../../cli/dev/processes/invocation-queue.ts';
import { gate } from '../../runtime/storages.ts';

const delivery = (run: string) => ({ tenant: 'default', run, agent: 'a' });

describe('the invocation queue', () => {
  it('runs one invocation for each run, even if it is delivered several times', async () => {
    const { opened, open } = gate();
    const invoke = vi.fn(async (): Promise<NextAction> => opened.then(() => 'done'));
    const queue = createInvocationQueue({ concurrency: 5, crashBackoffMs: 1, invoke, onStartFailed: () => {} });
    for (let i = 0; i < 10; i++) queue.deliver(delivery('r1'));
    expect(invoke).toHaveBeenCalledTimes(1);
    expect(queue.runningCount).toBe(1);
    open();
    await vi.waitFor(() => expect(queue.runningCount).toBe(0));
    queue.deliver(delivery('r1'));
    expect(invoke).toHaveBeenCalledTimes(2);
  });

  it('invokes a run again while it is ready', async () => {
    const nexts: NextAction[] = ['ready', 'ready', 'done'];
    const invoke = vi.fn(async (): Promise<NextAction> => nexts.shift() ?? 'done');
    const queue = createInvocationQueue({ concurrency: 1, crashBackoffMs: 1, invoke, onStartFailed: () => {} });
    queue.deliver(delivery('r1'));
    await vi.waitFor(() => expect(invoke).toHaveBeenCalledTimes(3));
  });

  it('reports and retries an invocation that cannot start, and ignores deliveries meanwhile', async () => {
    const onStartFailed = vi.fn();
    const invoke = vi.fn(async (): Promise<NextAction> => {
      if (invoke.mock.calls.length < 3) throw new Error('The disk is full.');
      return 'done';
    });
    const queue = createInvocationQueue({ concurrency: 1, crashBackoffMs: 3_600_000, invoke, onStartFailed });
    queue.deliver(delivery('r1'));
    for (const times of [1, 2]) {
      await vi.waitFor(() => expect(queue.runningCount).toBe(0));
      for (let i = 0; i < 10; i++) queue.deliver(delivery('r1'));
      expect(invoke).toHaveBeenCalledTimes(times);
      queue.retryNow();
    }
    expect(invoke).toHaveBeenCalledTimes(3);
    expect(onStartFailed.mock.calls.map(([{ run }, error]) => [run, String(error)])).toEqual([
      ['r1', 'Error: The disk is full.'],
      ['r1', 'Error: The disk is full.'],
    ]);
  });

  it('retries crashed invocations after a pause', async () => {
    const nexts: NextAction[] = ['crashed', 'crashed', 'done'];
    const invoke = vi.fn(async (): Promise<NextAction> => nexts.shift() ?? 'done');
    const queue = createInvocationQueue({ concurrency: 1, crashBackoffMs: 1, invoke, onStartFailed: () => {} });
    queue.deliver(delivery('r1'));
    await vi.waitFor(() => expect(invoke).toHaveBeenCalledTimes(3), { timeout: 30_000 });
  });

  it('starts nothing after a stop, which waits for running invocations and then ends them', async () => {
    const { opened, open } = gate();
    const invoke = vi.fn(async (): Promise<NextAction> => opened.then(() => 'crashed'));
    const queue = createInvocationQueue({ concurrency: 1, crashBackoffMs: 1, invoke, onStartFailed: () => {} });
    queue.deliver(delivery('r1'));
    queue.deliver(delivery('r2'));
    const end = vi.fn(open);
    const stopped = queue.stop(50, end);
    queue.deliver(delivery('r3'));
    expect(end).not.toHaveBeenCalled();
    await stopped;
    expect(end).toHaveBeenCalledTimes(1);
    await pause(20);
    expect(invoke).toHaveBeenCalledTimes(1);
  });
});
