import { describe, expect, test } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';

/** A storage that is opened when it is needed, and what happened to it. */
function opening(failures = 0) {
  const events: string[] = [];
  const storage = memoryStorage();
  const open = async (): Promise<Storage> => {
    events.push('opened');
    if (failures-- > 0) throw new Error('not yet');
    const close = (what: string) => async () => void events.push(`closed ${what}`);
    return {
      records: { ...storage.records, close: close('records') },
      payloads: { ...storage.payloads, close: close('payloads') },
    };
  };
  return { events, open };
}

describe('a store on a lazily opened storage', () => {
  test('opens it once, with the first call that needs it', async () => {
    const { events, open } = opening();
    const store = createCheckpointStore(open);
    expect(events).toEqual([]);
    await Promise.all(['a', 'b', 'c'].map((run) => store.save({ run, state: run })));
    await store.load('a');
    expect(events).toEqual(['opened']);
  });

  test('does not open it for a call that is rejected anyway', async () => {
    const { events, open } = opening();
    await expect(createCheckpointStore(open).load('')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(events).toEqual([]);
  });

  test('tries again after it could not be opened', async () => {
    const { events, open } = opening(1);
    const store = createCheckpointStore(open);
    await expect(store.save({ run: 'a', state: 1 })).rejects.toThrow('not yet');
    expect(await store.save({ run: 'a', state: 1 })).toMatchObject({ version: 1 });
    expect(events).toEqual(['opened', 'opened']);
  });

  test('closes the storage only if it was opened', async () => {
    const unused = opening();
    await createCheckpointStore(unused.open).close();
    expect(unused.events).toEqual([]);
    const used = opening();
    const store = createCheckpointStore(used.open);
    await store.save({ run: 'a', state: 1 });
    await store.close();
    expect(used.events.toSorted()).toEqual(['closed payloads', 'closed records', 'opened']);
  });
});
