import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOUR } from '../../faults/clock.ts';
import { outcomeOf } from './outcome.ts';
import { SHARED_STORAGES, type SharedStorage } from './shared-storage.ts';
import { WorkerPool } from './worker-pool.ts';

const START = Date.UTC(2030, 0, 1);

describe.each(SHARED_STORAGES)('processes of two deployments %s', (_, open) => {
  let shared: SharedStorage;
  let pool: WorkerPool;
  beforeAll(async () => {
    shared = await open();
    pool = new WorkerPool(shared);
  });
  afterAll(async () => {
    await pool.close();
    await shared.close();
  });

  test('share a run: version 3 resumes what version 1 suspended, and older versions then skip it', async () => {
    const command = { agent: 'chat', run: 'chat', now: START };
    const invoke = { ...command, do: 'invoke', seconds: 60 } as const;
    const [older, newer] = [pool.of(1), pool.of(3)];
    await older.perform({ ...command, do: 'start', input: null });
    expect(await older.perform({ ...invoke, by: 'a' })).toMatchObject({ value: { status: 'WAITING_FOR_SIGNAL' } });
    const stored = await shared.agents(START, 1).get('chat')?.store.load('chat');
    expect(stored).toMatchObject({ schema: 1, state: { lines: ['done: hello'] } });

    // The new deployment is killed in the claim that migrates the state, and again after it has written the new schema.
    await older.perform({ ...command, do: 'signal', name: 'reply', value: 'hi', id: 'reply' });
    newer.send({ ...invoke, by: 'b', held: true });
    await newer.advanceTo('committed');
    await pool.kill(newer);
    const next = pool.of(3);
    next.send({ ...invoke, by: 'b', held: true });
    for (let commits = 0; commits < 2; commits++) {
      await next.advanceTo('committed');
      next.resume();
    }
    await pool.kill(next);
    expect(await shared.agents(START).get('chat')?.store.load('chat')).toMatchObject({
      ...{ schema: 3, state: { messages: [{ text: 'done: hello' }, { text: 'hi' }], count: 2 } },
    });

    // The older deployment still gets the run: it skips the run, which is delivered again later.
    const later = START + HOUR;
    expect(await older.perform({ ...invoke, by: 'c', now: later })).toMatchObject({
      value: { end: 'skipped', reason: 'parked' },
    });
    const last = pool.of(3);
    expect(await last.perform({ ...command, do: 'sweep', now: later + HOUR })).toMatchObject({
      ...{ value: { delivered: 1, failed: [] }, delivered: [{ run: 'chat' }] },
    });
    await last.perform({ ...invoke, by: 'd', now: later + HOUR });
    await last.perform({ ...command, do: 'signal', name: 'end', value: null, id: 'end', now: later + HOUR });
    expect(await last.perform({ ...invoke, by: 'e', now: later + HOUR })).toMatchObject({ value: { end: 'finished' } });
    expect(await outcomeOf(shared, 'chat', 'chat')).toMatchObject({
      status: 'SUCCEEDED',
      result: { messages: [{ text: 'done: hello' }, { text: 'hi' }], count: 2 },
      effects: ['hello'],
    });
    expect(await shared.effects('chat')).toHaveLength(1);
  });
});
