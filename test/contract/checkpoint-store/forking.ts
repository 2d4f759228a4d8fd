import { describe, expect, test } from 'vitest';
import { type Payload, payload } from '../../../lambda/checkpoints/payload.ts';
import { eventually } from '../eventually.ts';
import { randomText } from './random-text.ts';
import { recordCalls } from './record-calls.ts';
import { all, DAY, type OpenStores } from './stores.ts';

interface State {
  prompt: string;
  messages: string[];
}

export function forkingContract(open: OpenStores): void {
  describe('a fork', () => {
    /** A run of three checkpoints, the second of which is named. */
    async function startedRun(stores: ReturnType<OpenStores>) {
      const { store, run } = stores;
      const saver = store<State>();
      const fields = { agent: 'travel', owner: 'ada', tags: ['x'], retention: { hours: 1 } };
      await saver.save({ run, state: { prompt: 'one', messages: ['a'] }, toolResults: { t1: 1 }, ...fields });
      await saver.save({
        run,
        state: { prompt: 'two', messages: ['a', 'b'] },
        toolResults: { t2: { deep: 2 } },
        step: 'second',
        model: { id: 'm', seed: 2 },
        name: 'middle',
        labels: { l: '1' },
      });
      await saver.save({
        run,
        state: { prompt: 'three', messages: ['a', 'b', 'c'] },
        status: 'SUCCEEDED',
        step: 'last',
      });
      return { ...stores, saver };
    }

    test('starts a new run with the content of the newest checkpoint', async () => {
      const { saver, store, run } = await startedRun(open());
      const fork = await saver.fork(run);
      expect(fork).toMatchObject({
        version: 1,
        kind: 'fork',
        status: 'RUNNING',
        step: 'last',
        stepNumber: 2,
        parent: { run, version: 3 },
        state: { prompt: 'three', messages: ['a', 'b', 'c'] },
        toolResults: { t1: 1, t2: { deep: 2 } },
      });
      expect(fork.run).not.toBe(run);
      expect(fork.run.startsWith(run)).toBe(true);
      expect(await store<State>().load(fork.run)).toStrictEqual(fork);
      expect(await store().describe(fork.run)).toMatchObject({
        agent: 'travel',
        owner: 'ada',
        tags: ['x'],
        retention: { hours: 1 },
      });
    });

    test('starts from an earlier checkpoint, by version or by name', async () => {
      const { saver, run } = await startedRun(open());
      const byVersion = await saver.fork(run, { version: 1 });
      expect(byVersion).toMatchObject({ state: { prompt: 'one' }, parent: { run, version: 1 }, stepNumber: 0 });
      expect(byVersion.toolResults).toStrictEqual({ t1: 1 });
      const byName = await saver.fork(run, { name: 'middle' });
      expect(byName).toMatchObject({
        state: { prompt: 'two' },
        model: { id: 'm', seed: 2 },
        parent: { run, version: 2 },
      });
    });

    test('uses the given fields instead of inherited ones', async () => {
      const { saver, store, run } = await startedRun(open());
      const given = {
        id: `${run} given`,
        status: 'READY',
        labels: { why: 'a try' },
        agent: 'other',
        owner: 'bob',
        tags: [],
        retention: { minutes: 1 },
      } as const;
      expect(await saver.fork(run, given)).toMatchObject({ run: given.id, status: 'READY', labels: { why: 'a try' } });
      expect(await store().describe(given.id)).toMatchObject({
        agent: 'other',
        owner: 'bob',
        tags: [],
        retention: { minutes: 1 },
      });
    });

    test.each<[string, (draft: State) => State | undefined | Promise<undefined>]>([
      [
        'in place',
        (draft) => {
          draft.prompt = 'changed';
          draft.messages.push('more');
          return undefined;
        },
      ],
      ['by returning a new state', (draft) => ({ prompt: 'changed', messages: [...draft.messages, 'more'] })],
      [
        'asynchronously',
        async (draft) => {
          await Promise.resolve();
          draft.prompt = 'changed';
          draft.messages.push('more');
          return undefined;
        },
      ],
    ])('can be edited %s before it starts', async (_, edit) => {
      const { saver, store, run } = await startedRun(open());
      const fork = await saver.fork(run, { version: 2, edit: edit as (draft: State) => State });
      expect(fork.state).toStrictEqual({ prompt: 'changed', messages: ['a', 'b', 'more'] });
      expect((await store().load(fork.run)).state).toStrictEqual(fork.state);
      expect((await store().load(run, 2)).state).toStrictEqual({ prompt: 'two', messages: ['a', 'b'] });
    });

    test('can start with other tool results', async () => {
      const { saver, store, run } = await startedRun(open());
      const fork = await saver.fork(run, { toolResults: { t2: 'instead', t3: 3 } });
      expect((await store().load(fork.run)).toolResults).toStrictEqual({ t1: 1, t2: 'instead', t3: 3 });
      expect((await store().load(run)).toolResults).toStrictEqual({ t1: 1, t2: { deep: 2 } });
    });

    test('is not created when its edit throws', async () => {
      const { saver, run, stored } = await startedRun(open());
      const edit = () => {
        throw new Error('on purpose');
      };
      await expect(saver.fork(run, { id: `${run} 2`, edit })).rejects.toThrow('on purpose');
      expect(await stored(`${run} 2`).records()).toEqual([]);
    });

    test('continues independently of the original run', async () => {
      const { saver, store, run } = await startedRun(open());
      const { run: id } = await saver.fork(run, { version: 2 });
      await saver.save({ run: id, state: { prompt: 'of the fork', messages: [] } });
      await saver.save({ run, state: { prompt: 'of the source', messages: [] } });
      expect(await store().load(id)).toMatchObject({ version: 2, state: { prompt: 'of the fork' } });
      expect(await store().load(run)).toMatchObject({ version: 4, state: { prompt: 'of the source' } });
      expect((await store().verify(id)).ok).toBe(true);
      expect(await saver.fork(id)).toMatchObject({ parent: { run: id, version: 2 }, state: { prompt: 'of the fork' } });
    });

    test('is rejected under the id of an existing run, including the original', async () => {
      const { saver, store, run } = await startedRun(open());
      await saver.save({ run: `${run} 2`, state: { prompt: 'taken', messages: [] } });
      for (const id of [`${run} 2`, run]) {
        await expect(saver.fork(run, { id, version: 1 })).rejects.toMatchObject({ code: 'RUN_EXISTS' });
      }
      expect(await all(store().history(`${run} 2`))).toHaveLength(1);
      expect(await all(store().history(run))).toHaveLength(3);
    });

    test('is rejected for a missing origin', async () => {
      const { saver, run } = await startedRun(open());
      await expect(saver.fork(`${run} none`)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
      await expect(saver.fork(run, { version: 4 })).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
      await expect(saver.fork(run, { name: 'none' })).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
      await expect(saver.fork(run, { version: 1, name: 'middle' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      await expect(saver.fork(run, { version: 1.5 })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      await expect(saver.fork(run, { status: 'NEW' as 'READY' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    });

    test('gets a valid id when the original id has the maximum length', async () => {
      const { store, tenant } = open();
      const saver = store();
      for (const run of ['x'.repeat(256), '👩'.repeat(21), "'".repeat(85)]) {
        await saver.save({ run, state: run });
        const fork = await saver.fork(run);
        expect(await store({ tenant }).load(fork.run)).toMatchObject({ state: run, parent: { run, version: 1 } });
      }
    });

    test('is created once when it is retried under its write id', async () => {
      const { saver, store, run } = await startedRun(open());
      const options = { id: `${run} 2`, version: 2, writeId: 'fork 1' };
      const fork = await saver.fork(run, options);
      expect(await store<State>().fork(run, options)).toStrictEqual(fork);
      await expect(saver.fork(run, { ...options, writeId: 'fork 2' })).rejects.toMatchObject({ code: 'RUN_EXISTS' });
    });

    test('has its own copies of payloads, each copied once by the storage', async () => {
      const { store, run, storage, stored } = open();
      const page = payload('a page', { type: 'text/html', digest: 'short' });
      await store().save({ run, state: { page, again: page, same: payload('a page') } });
      const counting = recordCalls(storage);
      const fork = await store<{ page: Payload; again: Payload }>({}, counting).fork(run);
      expect(counting.calls.filter((call) => call === 'copy')).toHaveLength(1);
      expect(counting.calls).not.toContain('open');
      expect(counting.calls).not.toContain('put');
      expect(await stored(fork.run).payloads()).toHaveLength(1);
      const loaded = await store<{ page: Payload; again: Payload }>().load(fork.run);
      expect(loaded.state.page).toMatchObject({ type: 'text/html', digest: 'short', size: 6 });
      expect(await loaded.state.again.text()).toBe('a page');
    });

    test('stays readable when the original run is deleted', async () => {
      const { store, run, clock, stored } = open();
      const saver = store<{ texts: string[]; page: Payload }>();
      const texts: string[] = [];
      for (let i = 0; i < 6; i++) {
        texts.push(randomText(i, 90_000));
        await saver.save({
          run,
          state: { texts, page: payload(`page ${i}`) },
          toolResults: { [`t${i}`]: payload('result') },
        });
      }
      const { run: id } = await saver.fork(run, { version: 5 });
      await saver.delete(run);
      clock.forward(2 * DAY);
      await eventually(async () => expect(await saver.sweep()).toMatchObject({ freed: 1 }));
      expect(await stored().records()).toEqual([]);
      expect(await stored().payloads()).toEqual([]);
      const loaded = await store<{ texts: string[]; page: Payload }>().load(id);
      expect(loaded.state.texts).toEqual(texts.slice(0, 5));
      expect(await loaded.state.page.text()).toBe('page 4');
      expect(await (loaded.toolResults.t4 as Payload).text()).toBe('result');
      expect(await store().verify(id)).toMatchObject({ ok: true, problems: [] });
    });
  });
}
