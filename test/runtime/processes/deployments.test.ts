import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOUR } from '../../faults/clock.ts';
import { outcomeOf } from './outcome.ts';
import { SHARED_STORAGES, type SharedStorage } from './shared-storage.ts';
import { WorkerPool } from './worker-pool.ts';

const START = Date.UTC(2030, 0, 1);

describe.each(SHARED_STORAGES)('processes of two deployments %s', (_, open) => {
  let place: SharedStorage;
  let crew: WorkerPool;
  beforeAll(async () => {
    place = await open();
    crew = new WorkerPool(place);
  });
  afterAll(async () => {
    await crew.close();
    await place.close();
  });

  test('share a run: what version 1 suspended version 3 goes on with, and then leaves to no older one', async () => {
    const command = { agent: 'chat', run: 'chat', now: START };
    const invoke = { ...command, do: 'invoke', seconds: 60 } as const;
    const [old, young] = [crew.of(1), crew.of(3)];
    await old.does({ ...command, do: 'start', input: null });
    expect(await old.does({ ...invoke, by: 'a' })).toMatchObject({ value: { status: 'WAITING_FOR_SIGNAL' } });
    const stored = await place.agents(START, 1).get('chat')?.store.load('chat');
    expect(stored).toMatchObject({ schema: 1, state: { lines: ['done: hello'] } });

    // The new deployment dies in the claim that migrates, and again when it has written in the new shape.
    await old.does({ ...command, do: 'signal', name: 'reply', value: 'hi', id: 'reply' });
    young.tell({ ...invoke, by: 'b', held: true });
    await young.reaches('committed');
    await crew.kill(young);
    const next = crew.of(3);
    next.tell({ ...invoke, by: 'b', held: true });
    for (let commits = 0; commits < 2; commits++) {
      await next.reaches('committed');
      next.go();
    }
    await crew.kill(next);
    expect(await place.agents(START).get('chat')?.store.load('chat')).toMatchObject({
      ...{ schema: 3, state: { messages: [{ text: 'done: hello' }, { text: 'hi' }], count: 2 } },
    });

    // The old one is still there, and gets the run: it leaves it alone, and asks for it later.
    const later = START + HOUR;
    expect(await old.does({ ...invoke, by: 'c', now: later })).toMatchObject({
      value: { end: 'skipped', reason: 'parked' },
    });
    const last = crew.of(3);
    expect(await last.does({ ...command, do: 'sweep', now: later + HOUR })).toMatchObject({
      ...{ value: { delivered: 1, failed: [] }, delivered: [{ run: 'chat' }] },
    });
    await last.does({ ...invoke, by: 'd', now: later + HOUR });
    await last.does({ ...command, do: 'signal', name: 'end', value: null, id: 'end', now: later + HOUR });
    expect(await last.does({ ...invoke, by: 'e', now: later + HOUR })).toMatchObject({ value: { end: 'finished' } });
    expect(await outcomeOf(place, 'chat', 'chat')).toMatchObject({
      status: 'SUCCEEDED',
      result: { messages: [{ text: 'done: hello' }, { text: 'hi' }], count: 2 },
      effects: ['hello'],
    });
    expect(await place.effects('chat')).toHaveLength(1);
  });
});
