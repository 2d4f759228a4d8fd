import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import type { CheckpointMeta } from '../../../lambda/checkpoints/format/meta.ts';
import { randomText } from './random-text.ts';
import { recordCalls } from './record-calls.ts';
import { all, type OpenStores, type Stores } from './stores.ts';

interface Conversation {
  readonly messages: readonly string[];
  readonly turn: number;
  readonly notes: Readonly<Record<string, string>>;
}

const STEPS = 80;

/** Small steps, edits in place, and every second one 20 to 60 KB of fresh text. */
function next(before: Conversation, turn: number): Conversation {
  const text = turn % 2 === 0 ? randomText(turn, 20_000 + ((turn * 7919) % 40_000)) : `turn ${turn}`;
  const notes = turn % 10 === 0 ? { ...before.notes, [`note ${turn % 40}`]: `as of ${turn}` } : before.notes;
  const messages = turn % 50 === 0 ? before.messages.slice(1) : before.messages;
  return { messages: [...messages, text], turn, notes };
}

export function chainsContract(open: OpenStores): void {
  describe('a long run of small and large steps', () => {
    const states: Conversation[] = [];
    let stores: Stores;
    beforeAll(async () => {
      stores = open();
      const { store, run } = stores;
      let saver = store();
      for (let turn = 1; turn <= STEPS; turn++) {
        states.push(next(states.at(-1) ?? { messages: [], turn: 0, notes: {} }, turn));
        // A new process now and then, which knows only what is stored.
        if (turn % 25 === 0) {
          saver = store();
          await saver.load(run);
        }
        const fields = {
          ...(turn % 20 === 0 && { name: `turn ${turn}` }),
          ...(turn % 7 === 0 && { model: { seed: turn } }),
        };
        await saver.save({ run, state: states.at(-1), step: 'turn', ...fields });
      }
    });

    const anchors = (metas: readonly CheckpointMeta[]) => metas.filter(({ anchor }) => anchor === undefined);

    test('uses every storage form: snapshots and patches in records, payloads, segments, and folded segments', async () => {
      const metas = await stores.stored().metas();
      const segments = anchors(metas).map(({ segments: ids = [] }) => ids.map(([id]) => id));
      const folds = segments.filter((ids, i) => {
        const before = segments[i - 1] ?? [];
        return ids[0] !== undefined && ids[0] === before[0] && before.some((id) => !ids.includes(id));
      });
      expect(segments.filter(({ length }) => length === 0)).not.toHaveLength(0);
      expect(segments.filter(({ length }) => length === 1)).not.toHaveLength(0);
      expect(segments.filter(({ length }) => length > 1)).not.toHaveLength(0);
      expect(folds).not.toHaveLength(0);
      expect(metas.filter(({ anchor }) => anchor !== undefined).length).toBeGreaterThan(STEPS / 4);
      expect(Math.max(...segments.map(({ length }) => length))).toBeLessThanOrEqual(9);
    });

    test('loads at every version, in two requests for records and one round of at most nine for payloads', async () => {
      const { store, run, storage } = stores;
      for (const [index, state] of states.entries()) {
        const counting = recordCalls(storage);
        const loaded = await store<Conversation>({}, counting).load(run, index + 1);
        expect(loaded.version).toBe(index + 1);
        expect(isDeepStrictEqual(loaded.state, state)).toBe(true);
        expect(loaded.model).toStrictEqual((index + 1) % 7 === 0 ? { seed: index + 1 } : undefined);
        expect(counting.calls.filter((call) => call !== 'open').length).toBeLessThanOrEqual(2);
        expect(counting.calls.filter((call) => call === 'open').length).toBeLessThanOrEqual(9);
      }
    });

    test('loads by name, and at its newest version', async () => {
      const { store, run, storage } = stores;
      for (let turn = 20; turn <= STEPS; turn += 20) {
        const counting = recordCalls(storage);
        const loaded = await store({}, counting).load(run, { name: `turn ${turn}` });
        expect(loaded).toMatchObject({ version: turn, name: `turn ${turn}` });
        expect(isDeepStrictEqual(loaded.state, states[turn - 1])).toBe(true);
        expect(counting.calls.filter((call) => call !== 'open').length).toBeLessThanOrEqual(2);
      }
      expect((await store().load(run)).state).toStrictEqual(states.at(-1));
    });

    test('takes a small multiple of the size of its new content', async () => {
      const { stored, store, run } = stores;
      const fresh = states.reduce((sum, { messages }) => sum + (messages.at(-1)?.length ?? 0), 0);
      const records = (await stored().records()).reduce(
        (sum, { meta, body }) => sum + meta.length + (body?.length ?? 0),
        0,
      );
      const payloads = (await stored().payloads()).reduce((sum, { size }) => sum + size, 0);
      expect(records + payloads).toBeLessThan(4 * fresh);
      const reported = (await all(store().history(run))).reduce((sum, { bytes }) => sum + bytes, 0);
      expect(reported).toBeLessThan(4 * fresh);
      expect(reported).toBeGreaterThan(fresh / 2);
    });

    test('verifies without problems, and has no unused payload', async () => {
      const { store, run, stored } = stores;
      const verification = await store().verify(run);
      expect(verification).toMatchObject({ ok: true, problems: [], checkpoints: STEPS, verifiedFrom: 1 });
      const needed = new Set((await stored().metas()).flatMap(({ segments: ids = [] }) => ids.map(([id]) => id)));
      expect((await stored().payloads()).map(({ id }) => id).toSorted()).toEqual([...needed].toSorted());
      expect(verification.payloads).toBe(needed.size);
    });
  });

  describe('a state', () => {
    test('is stored when it is empty', async () => {
      const { store, run } = open();
      for (const [index, state] of ['', null, 0, false, {}, []].entries()) {
        await store().save({ run: `${run} ${index}`, state });
        expect((await store().load(`${run} ${index}`)).state).toStrictEqual(state);
      }
    });

    test('is stored at 50 MB, and appending writes little more than the new content', async () => {
      const { store, run, stored } = open();
      const page = randomText(1, 1_000_000);
      const pages = Array.from({ length: 50 }, (_, i) => page.slice(i * 1000) + page.slice(0, i * 1000));
      const saver = store<{ pages: readonly string[] }>();
      const first = await saver.save({ run, state: { pages } });
      const second = await saver.save({ run, state: { pages: [...first.state.pages, 'one more line'] } });
      await saver.update(run, (draft) => ({ pages: [...draft.pages, 'and another'] }));
      expect(second.bytes).toBeLessThan(1000);
      expect((await stored().record(3)).body?.length).toBeLessThan(1000);
      const loaded = await store<{ pages: readonly string[] }>().load(run);
      expect(loaded.state.pages.length).toBe(52);
      expect(loaded.state.pages.slice(50)).toEqual(['one more line', 'and another']);
      expect(loaded.state.pages[49] === pages[49]).toBe(true);
    });

    test('is stored with 100,000 keys, and a change to one of them is a small write', async () => {
      const { store, run } = open();
      const keys = Array.from({ length: 100_000 }, (_, i) => [`key ${i}`, i] as const);
      const saver = store<Record<string, number>>();
      await saver.save({ run, state: Object.fromEntries(keys) });
      const { bytes } = await saver.update(run, (draft) => void Object.assign(draft, { 'key 77777': -1 }));
      expect(bytes).toBeLessThan(1000);
      const { state } = await store<Record<string, number>>().load(run);
      expect(Object.keys(state)).toHaveLength(100_000);
      expect([state['key 77776'], state['key 77777']]).toEqual([77776, -1]);
    });

    test('is rejected with its path at 10,000 levels, and stored at 900', async () => {
      const { store, run, stored } = open();
      const nested = (levels: number) => {
        let state: object = {};
        for (let level = 1; level < levels; level++) state = { in: state };
        return state;
      };
      await expect(store().save({ run, state: nested(10_000) })).rejects.toMatchObject({
        code: 'UNSUPPORTED_VALUE',
        message: expect.stringMatching(/^state\.in\.in.* nests deeper than/),
      });
      expect(await stored().records()).toEqual([]);
      await store().save({ run, state: nested(900) });
      expect(JSON.stringify((await store().load(run)).state)).toBe(JSON.stringify(nested(900)));
    });
  });
}
