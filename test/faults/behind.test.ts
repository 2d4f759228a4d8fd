import { describe, expect, test } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { clockAt, MINUTE } from './clock.ts';

interface Account {
  readonly balance: number;
}

/** Two processes, of which the first has an outdated checkpoint in its cache. */
function processes() {
  const clock = clockAt();
  const storage = memoryStorage({ clock: clock.read });
  const open = () => createCheckpointStore<Account>(storage, { clock: clock.read });
  return { clock, behind: open(), ahead: open() };
}

const RUN = 'run';

describe('a process with an outdated checkpoint', () => {
  test('updates when only the newest checkpoint allows the status', async () => {
    const { behind, ahead } = processes();
    await behind.save({ run: RUN, state: { balance: 1 } });
    await behind.update(RUN, () => ({ balance: 2 }), { status: 'SUCCEEDED' });
    await ahead.rewind(RUN, 1);
    const updated = await behind.update(RUN, ({ balance }) => ({ balance: balance + 10 }), { status: 'SLEEPING' });
    expect(updated).toMatchObject({ version: 4, status: 'SLEEPING', state: { balance: 11 } });
  });

  test('updates a run that only the newest checkpoint keeps from expiring', async () => {
    const { clock, behind, ahead } = processes();
    await ahead.save({ run: RUN, state: { balance: 1 }, retention: { minutes: 10 } });
    clock.now += 9 * MINUTE;
    await behind.load(RUN);
    await ahead.update(RUN, () => ({ balance: 2 }));
    clock.now += 2 * MINUTE;
    const updated = await behind.update(RUN, ({ balance }) => ({ balance: balance + 10 }));
    expect(updated).toMatchObject({ version: 3, state: { balance: 12 } });
  });

  test('retries an edit that rejects the outdated state on the newest one', async () => {
    const { behind, ahead } = processes();
    await behind.save({ run: RUN, state: { balance: 0 } });
    await ahead.update(RUN, () => ({ balance: 5 }));
    const pay = ({ balance }: Account) => {
      if (balance < 3) throw new Error('Too little.');
      return { balance: balance - 3 };
    };
    expect(await behind.update(RUN, pay)).toMatchObject({ version: 3, state: { balance: 2 } });
    await expect(behind.update(RUN, pay)).rejects.toThrow('Too little.');
    expect(await ahead.load(RUN)).toMatchObject({ version: 3 });
  });

  test('gets a conflict with the current checkpoint when it saves', async () => {
    const { behind, ahead } = processes();
    const first = await behind.save({ run: RUN, state: { balance: 0 } });
    await ahead.update(RUN, () => ({ balance: 5 }));
    const stale = behind.save({ run: RUN, expectedVersion: first, state: { balance: 1 } });
    await expect(stale).rejects.toMatchObject({ code: 'STALE_VERSION', found: { version: 2 } });
    await ahead.delete(RUN);
    const late = behind.update(RUN, () => ({ balance: 1 }));
    await expect(late).rejects.toMatchObject({ code: 'RUN_DELETED' });
  });
});
