import { describe, expect, test } from 'vitest';
import type { CheckpointStore } from '../../../lambda/checkpoints/checkpoint-store.ts';
import { type Payload, payload } from '../../../lambda/checkpoints/payload.ts';
import { randomText } from './random-text.ts';
import { shape } from './shape.ts';
import { all, type OpenStores } from './stores.ts';

export function travellingContract(open: OpenStores): void {
  describe('a rewind', () => {
    test('appends the content of an earlier checkpoint, and keeps the history', async () => {
      const { store, run } = open();
      const saver = store();
      const first = { step: 'plan', labels: { l: '1' }, model: { id: 'm' }, toolResults: { a: 1 } };
      await saver.save({ run, state: { n: 1 }, name: 'plan', ...first });
      await saver.save({ run, state: { n: 2, more: [1] }, step: 'act', toolResults: { b: 2 } });
      await saver.save({ run, state: { n: 3 }, step: 'act', toolResults: { a: 'changed' } });
      const before = await all(saver.history(run));
      const back = await saver.rewind(run, 1);
      expect(back).toMatchObject({ version: 4, kind: 'rewind', restored: 1, state: { n: 1 }, stepNumber: 1, ...first });
      expect(back.toolResults).toStrictEqual({ a: 1 });
      expect(back.name).toBeUndefined();
      expect(await store().load(run)).toStrictEqual(back);
      expect((await all(store().history(run))).slice(0, 3)).toStrictEqual(before);
      expect(await store().load(run, { name: 'plan' })).toMatchObject({ version: 1 });
      expect(await saver.save({ run, state: { n: 5 } })).toMatchObject({ version: 5 });
    });

    test('can go to a name, or forward again', async () => {
      const { store, run } = open();
      const saver = store();
      for (const state of ['one', 'two', 'three']) await saver.save({ run, state, name: state });
      expect(await saver.rewind(run, { name: 'one' })).toMatchObject({ version: 4, state: 'one' });
      expect(await saver.rewind(run, { version: 3 })).toMatchObject({ version: 5, state: 'three' });
      expect(await store().rewind(run, 5)).toMatchObject({ version: 6, state: 'three', restored: 5 });
    });

    test('sets the status to RUNNING, keeps an ended status, and accepts any given status', async () => {
      const { store, run } = open();
      const saver = store();
      const statuses = ['RUNNING', 'WAITING_FOR_APPROVAL', 'READY', 'RUNNING', 'SUCCEEDED'] as const;
      for (const status of statuses) await saver.save({ run, state: status, status });
      expect(await saver.rewind(run, 2)).toMatchObject({ status: 'RUNNING', state: 'WAITING_FOR_APPROVAL' });
      expect(await saver.describe(run)).toMatchObject({ status: 'RUNNING' });
      expect(await saver.rewind(run, 5)).toMatchObject({ status: 'SUCCEEDED' });
      expect(await saver.rewind(run, 2, { status: 'READY' })).toMatchObject({ status: 'READY' });
      expect(await saver.describe(run)).toMatchObject({ status: 'READY' });
    });

    test('is rejected for a missing checkpoint, and nothing is written', async () => {
      const { store, run } = open();
      const saver = store();
      await expect(saver.rewind(run, 1)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
      await saver.save({ run, state: 1 });
      await expect(saver.rewind(run, 2)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
      await expect(saver.rewind(run, 0)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      const status = 'BACK' as 'READY';
      await expect(saver.rewind(run, 1, { status })).rejects.toThrow(/`status` must be one of/);
      expect(await all(saver.history(run))).toHaveLength(1);
    });

    test('restores payloads, even when no newer checkpoint has them', async () => {
      const { store, run, stored } = open();
      const saver = store<{ page?: Payload; text?: string }>();
      await saver.save({ run, state: { page: payload('the page') } });
      await saver.save({ run, state: {} });
      await saver.save({ run, state: { text: randomText(1, 20_000) } });
      await saver.rewind(run, 1);
      await saver.prune(run, { keepLast: 1 });
      const { state } = await store<{ page: Payload }>().load(run);
      expect(await state.page.text()).toBe('the page');
      expect((await store().verify(run)).ok).toBe(true);
      expect((await stored().payloads()).filter(({ size }) => size === 'the page'.length)).toHaveLength(1);
    });

    test('is retried on top of concurrent writes', async () => {
      const { store, run } = open();
      await store().save({ run, state: { n: 0, marks: [] } });
      const work = [1, 2, 3, 4].flatMap((n) => [
        store().rewind(run, 1),
        store<{ marks: number[] }>().update(run, (draft) => void draft.marks.push(n)),
      ]);
      await Promise.all(work);
      const history = await all(store().history(run));
      expect(history.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(history.filter(({ kind }) => kind === 'rewind')).toHaveLength(4);
      expect((await store().verify(run)).ok).toBe(true);
    });
  });

  describe('undo and redo', () => {
    type Act = (store: CheckpointStore, run: string) => Promise<unknown>;
    const save =
      (state: string): Act =>
      (store, run) =>
        store.save({ run, state });
    const rewind =
      (version: number): Act =>
      (store, run) =>
        store.rewind(run, version);
    const prune =
      (keepLast: number): Act =>
      (store, run) =>
        store.prune(run, { keepLast });
    const undo: Act = (store, run) => store.undo(run);
    const redo: Act = (store, run) => store.redo(run);
    const NOTHING = 'NOTHING';

    /** The state after each action, or NOTHING if the action is rejected and writes nothing. */
    test.each<[string, readonly (readonly [Act, string])[]]>([
      [
        'step back to the first checkpoint and forward to the last',
        [
          [save('a'), 'a'],
          [save('b'), 'b'],
          [save('c'), 'c'],
          [redo, NOTHING],
          [undo, 'b'],
          [undo, 'a'],
          [undo, NOTHING],
          [redo, 'b'],
          [redo, 'c'],
          [redo, NOTHING],
          [undo, 'b'],
          [redo, 'c'],
        ],
      ],
      [
        'are rejected when the run has a single checkpoint',
        [
          [save('a'), 'a'],
          [undo, NOTHING],
          [redo, NOTHING],
        ],
      ],
      [
        'drop the undone checkpoints at the next save, which itself can be undone',
        [
          [save('a'), 'a'],
          [save('b'), 'b'],
          [save('c'), 'c'],
          [undo, 'b'],
          [undo, 'a'],
          [save('d'), 'd'],
          [redo, NOTHING],
          [undo, 'a'],
          [undo, NOTHING],
          [redo, 'd'],
          [redo, NOTHING],
          [save('e'), 'e'],
          [undo, 'd'],
          [undo, 'a'],
          [redo, 'd'],
          [redo, 'e'],
        ],
      ],
      [
        'treat a rewind like any other change',
        [
          [save('a'), 'a'],
          [save('b'), 'b'],
          [save('c'), 'c'],
          [rewind(1), 'a'],
          [redo, NOTHING],
          [undo, 'c'],
          [redo, 'a'],
          [undo, 'c'],
          [undo, 'b'],
          [redo, 'c'],
          [redo, 'a'],
          [redo, NOTHING],
        ],
      ],
      [
        'skip the checkpoint that a prune appends',
        [
          [save('a'), 'a'],
          [save('b'), 'b'],
          [save('c'), 'c'],
          [undo, 'b'],
          [prune(3), 'b'],
          [redo, 'c'],
          [undo, 'b'],
          [save('d'), 'd'],
          [prune(1), 'd'],
          [redo, NOTHING],
        ],
      ],
    ])('%s', async (_, acts) => {
      const { store, run } = open();
      let shapes = 0;
      for (const [act, expected] of acts) {
        const before = (await store().find(run))?.version ?? 0;
        // A shape for every act makes every save a snapshot, so that a prune has something to empty.
        const saver = store(shape(++shapes));
        if (before > 0) await saver.load(run);
        if (expected === NOTHING) {
          const code = act === undo ? 'NOTHING_TO_UNDO' : 'NOTHING_TO_REDO';
          await expect(act(saver, run)).rejects.toMatchObject({ code });
          expect((await store().load(run)).version).toBe(before);
        } else {
          await act(saver, run);
          expect(await store().load(run)).toMatchObject({ state: expected, version: before + 1 });
        }
      }
    });

    test('are rejected when a prune has emptied their target', async () => {
      const { store, run } = open();
      for (const n of [1, 2, 3]) await store(shape(n)).save({ run, expectedVersion: n - 1, state: n });
      expect(await store().prune(run, { keepLast: 1 })).toMatchObject({ emptied: 2 });
      await expect(store().undo(run)).rejects.toMatchObject({ code: 'NOTHING_TO_UNDO' });
      expect((await store().load(run)).version).toBe(4);
    });

    test('do not go back beyond the start of a fork', async () => {
      const { store, run } = open();
      const saver = store();
      for (const state of ['a', 'b']) await saver.save({ run, state });
      const { run: id } = await saver.fork(run);
      await expect(saver.undo(id)).rejects.toMatchObject({ code: 'NOTHING_TO_UNDO' });
      await saver.save({ run: id, state: 'c' });
      expect(await saver.undo(id)).toMatchObject({ version: 3, state: 'b', kind: 'undo', restored: 1 });
      await expect(saver.undo(id)).rejects.toMatchObject({ code: 'NOTHING_TO_UNDO' });
      expect(await saver.redo(id)).toMatchObject({ version: 4, state: 'c', kind: 'redo', restored: 2 });
    });

    test('restore everything in the checkpoint', async () => {
      const { store, run } = open();
      const saver = store();
      const fields = { step: 's', labels: { l: '1' }, model: { id: 'm' }, toolResults: { t: [1] } };
      await saver.save({ run, state: 'one', ...fields });
      await saver.save({ run, state: 'two', status: 'FAILED', toolResults: { u: 2 } });
      const undone = await store().undo(run);
      expect(undone).toMatchObject({ state: 'one', status: 'RUNNING', stepNumber: 1, ...fields });
      expect(undone.toolResults).toStrictEqual({ t: [1] });
      const redone = await store().redo(run);
      expect(redone).toMatchObject({ state: 'two', status: 'FAILED', toolResults: { t: [1], u: 2 } });
      expect(await store().describe(run)).toMatchObject({ status: 'FAILED', statusChange: { version: 4 } });
    });

    test('are rejected for a run that does not exist', async () => {
      const { store, run } = open();
      await expect(store().undo(run)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
      await expect(store().redo(run)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    });
  });
}
