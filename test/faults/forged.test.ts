import { randomBytes } from 'node:crypto';
import { statSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import type { CheckpointStoreOptions } from '../../lambda/checkpoints/context-factory.ts';
import { localKeys } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { payload } from '../../lambda/checkpoints/payload.ts';
import { checkpointStore as embeddedStore } from '../../lambda/embedded.ts';
import { dueGroup } from '../../lambda/storage/keys.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { randomText } from '../contract/checkpoint-store/random-text.ts';
import { rehash, storedRun } from '../contract/checkpoint-store/stored-run.ts';

const RUN = 'run';
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A storage that the test can alter directly. */
function scene() {
  const clock = { now: 1_800_000_000_000 };
  const storage = memoryStorage({ clock: () => clock.now });
  const store = <State>(options: CheckpointStoreOptions = {}) =>
    createCheckpointStore<State>(storage, { clock: () => clock.now, ...options });
  return { clock, storage, store, stored: (run = RUN) => storedRun(storage, 'default', run) };
}

/** The metadata of a record after a change. */
const forged = (meta: string, change: (parsed: unknown[]) => void): string => {
  const parsed = JSON.parse(meta.slice(1)) as unknown[];
  change(parsed);
  return `1${JSON.stringify(parsed)}`;
};

describe('a forged name', () => {
  async function named(options: CheckpointStoreOptions = {}) {
    const { store, stored } = scene();
    const saver = store<{ text: string; approved?: boolean }>(options);
    let latest = await saver.save({ run: RUN, state: { text: randomText(1, 1000) } });
    for (const seed of [2, 3]) {
      const state = { text: randomText(seed, 1000 * seed) };
      latest = await saver.save({ run: RUN, expectedVersion: latest, state });
    }
    const state = { ...latest.state, approved: true };
    await saver.save({ run: RUN, expectedVersion: latest, state, name: 'approved' });
    return { store: () => store<{ text: string }>(options), stored };
  }

  test.each([
    ['another anchor', '1{"version":4,"anchor":1}'],
    ['a checkpoint that never had it', '1{"version":1,"anchor":1}'],
  ])('is rejected when it names %s, with keys and without, and `verify` reports it', async (_, meta) => {
    const keys = localKeys({ current: 'k', keys: { k: randomBytes(32) } });
    for (const options of [{}, { keys }]) {
      const { store, stored } = await named(options);
      expect((await store().load(RUN, { name: 'approved' })).state.text).toHaveLength(3000);
      await stored().alter('napproved', () => ({ meta }));
      await expect(store().load(RUN, { name: 'approved' })).rejects.toMatchObject({ code: 'DAMAGED' });
      expect((await store().verify(RUN)).ok).toBe(false);
    }
  });
});

describe('a forged record', () => {
  test('does not make redo loop forever', async () => {
    const { store, stored } = scene();
    for (const n of [1, 2, 3]) await store<number>().update(RUN, () => n, { initial: 0 });
    await store().undo(RUN);
    await stored().alter(2, (record) => {
      const meta = forged(record.meta, (parsed) => parsed.push({ k: 'undo', f: 5 }));
      return rehash({ ...record, meta });
    });
    await expect(store().redo(RUN)).rejects.toMatchObject({ code: 'DAMAGED' });
  });

  test.each([-1e12, 1.5, 2, 7, '1', {}])('cannot have the anchor %j', async (anchor) => {
    const { store } = await forgedAnchor(anchor);
    await expect(store().load(RUN)).rejects.toMatchObject({ code: 'DAMAGED' });
    await expect(store().prune(RUN, { keepLast: 1 })).rejects.toMatchObject({ code: 'DAMAGED' });
  });

  test('cannot have an anchor without a snapshot', async () => {
    const { store } = await forgedAnchor(0);
    await expect(store().load(RUN)).rejects.toMatchObject({ code: 'DAMAGED' });
  });

  async function forgedAnchor(anchor: unknown) {
    const { store, stored } = scene();
    await store().save({ run: RUN, state: randomText(1, 2000) });
    await store().update(RUN, (text) => `${text}!`);
    await stored().alter(2, (record) => {
      const meta = forged(record.meta, (parsed) => {
        parsed[5] = anchor;
      });
      return rehash({ ...record, meta });
    });
    return { store };
  }

  test('counts as one problem if it is far after the others, not as one for each missing checkpoint', async () => {
    const { store, stored, storage } = scene();
    await store().save({ run: RUN, state: 1 });
    const last = { ...(await stored().record(1)), key: 'c9999999999' };
    await storage.records.commit([{ put: last, when: 'absent' }]);
    const { problems } = await store().verify(RUN);
    expect(problems.map(({ version }) => version)).toEqual([2, 9_999_999_999]);
  });

  test.each(['null', '5', '{"s":null}', '{"s":{"state":1}}', '{"s":{"state":1,"results":{"a":1}}}', '{"p":5}'])(
    'is reported as DAMAGED when its body is %s',
    async (body) => {
      const { store, stored } = scene();
      await store().save({ run: RUN, state: 1 });
      await stored().alter(1, (record) => rehash({ ...record, body: Buffer.from(body) }));
      await expect(store().load(RUN)).rejects.toMatchObject({ code: 'DAMAGED', scope: 'run' });
    },
  );

  test('is reported as damaged when it decompresses to more than a string can hold', async () => {
    const { store, stored } = scene();
    await store().save({ run: RUN, state: 1 });
    const bomb = zstdCompressSync(Buffer.alloc(2 ** 29 + 1));
    await stored().alter(1, (record) => rehash({ ...record, body: bomb }));
    await expect(store().load(RUN)).rejects.toMatchObject({ code: 'DAMAGED' });
  });

  test('is not parsed with a number of millions of digits, which cannot be saved either', async () => {
    const { store, stored } = scene();
    await store().save({ run: RUN, state: 1 });
    const body = Buffer.from(`{"s":{"state":{"$":["bigint","${'9'.repeat(200_000)}"]},"results":{}}}`);
    await stored().alter(1, (record) => rehash({ ...record, body }));
    await expect(store().load(RUN)).rejects.toMatchObject({ code: 'DAMAGED' });
    const state = { n: 10n ** 100_001n };
    await expect(store().save({ run: 'other', state })).rejects.toThrow(
      /state\.n is a number of more than 100000 digits/,
    );
  });
});

describe('a run whose newest checkpoints were removed', () => {
  test('is not loaded as a shorter run if its head has a later version', async () => {
    const { store, stored } = scene();
    await store<number>().save({ run: RUN, state: 1 });
    await store<number>().update(RUN, () => 2, { status: 'SUCCEEDED' });
    await stored().remove(2);
    for (const use of [() => store().load(RUN), () => store().update(RUN, () => 3)]) {
      await expect(use()).rejects.toThrow(/its checkpoint 2 is missing/);
    }
    expect(await store().load(RUN, 1)).toMatchObject({ state: 1 });
    await store().delete(RUN);
  });
});

describe('a record under an unescaped key', () => {
  test('stops neither a sweep nor a collection', async () => {
    const { store, storage, clock } = scene();
    await store().save({ run: RUN, state: 1, retention: { seconds: 1 } });
    const lists = { due: { group: dueGroup('evil/%zz'), order: '000000000000001' } };
    await storage.records.commit([
      { put: { partition: 'evil/%zz', key: 'cz', revision: 'r', meta: '1{}', lists }, when: 'absent' },
    ]);
    await storage.payloads.put('100%/x', 'abandoned-orphan', Buffer.from('x'));
    clock.now += 2 * DAY;
    expect(await store().sweep({ everyTenant: true })).toMatchObject({ expired: 1, failed: [{ run: '%zz' }] });
    expect(await store().collect({ everyTenant: true })).toMatchObject({ payloadsRemoved: 1, failed: [] });
  });

  test('is not removed when Waitstate did not write it', async () => {
    const { store, storage, clock } = scene();
    await storage.payloads.put('logs/2024', 'app.log', Buffer.from('x'));
    clock.now += 2 * DAY;
    expect(await store().collect({ everyTenant: true })).toMatchObject({ payloadsRemoved: 0 });
    expect(await storage.payloads.open('logs/2024', 'app.log')).toBeDefined();
  });
});

describe('a data key', () => {
  const ring = (options: { allow?: () => boolean } = {}) => {
    const keys = localKeys({ current: 'k', keys: { k: Buffer.alloc(32, 7) } });
    const { allow = () => true } = options;
    return {
      wrap: keys.wrap,
      unwrap: async (...args: Parameters<typeof keys.unwrap>) => {
        if (!allow()) throw new Error('The ring refuses.');
        return keys.unwrap(...args);
      },
    };
  };

  test('cannot decrypt another run', async () => {
    const { store, storage, stored } = scene();
    const warm = store({ keys: ring() });
    await warm.save({ run: RUN, state: 'mine' });
    await warm.save({ run: 'other', state: 'theirs' });
    const head = await stored().head();
    await stored('other').alter('cz', (record) => {
      const meta = { ...JSON.parse(record.meta.slice(1)), key: head.key };
      return { meta: `1${JSON.stringify(meta)}`, revision: 'forged' };
    });
    expect(await warm.load(RUN)).toMatchObject({ state: 'mine' });
    for (const loaded of [warm, createCheckpointStore(storage, { keys: ring() })]) {
      await expect(loaded.load('other')).rejects.toMatchObject({ code: 'KEY_UNAVAILABLE' });
    }
  });

  test('is dropped by a store that shreds, no matter how often it was rotated, and by a store that sees the shredded run', async () => {
    const { store, stored } = scene();
    let allowed = true;
    const [shredder, reader] = [0, 1].map(() => store({ keys: ring({ allow: () => allowed }) }));
    await shredder?.save({ run: RUN, state: 'secret' });
    await shredder?.rotateKey(RUN);
    await reader?.load(RUN);
    const head = await stored().record('cz');
    await shredder?.shred(RUN);
    await expect(reader?.load(RUN)).rejects.toMatchObject({ code: 'RUN_SHREDDED' });
    allowed = false;
    await stored().alter('cz', () => ({ meta: head.meta, revision: 'restored' }));
    for (const store of [shredder, reader]) await expect(store?.load(RUN, 1)).rejects.toThrow('The ring refuses.');
  });

  test('is copied, so later changes by the caller have no effect', async () => {
    const { store } = scene();
    const key = randomBytes(32);
    const keys = localKeys({ current: 'k', keys: { k: key } });
    const same = localKeys({ current: 'k', keys: { k: Buffer.from(key) } });
    key.fill(0);
    await store({ keys }).save({ run: RUN, state: 'secret' });
    expect(await store({ keys: same }).load(RUN)).toMatchObject({ state: 'secret' });
  });
});

describe('invalid input', () => {
  test('is rejected if it is an excessive retention, a writer that is not text, or a clock that returns NaN', async () => {
    const { store } = scene();
    const endless = store().save({ run: RUN, state: 1, retention: { days: Number.MAX_VALUE } });
    await expect(endless).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(() => store({ writer: 5 as unknown as string })).toThrow(/`writer` must be text/);
    await expect(store({ clock: () => Number.NaN }).save({ run: RUN, state: 1 })).rejects.toThrow(
      /The result of `clock` must be/,
    );
    expect(await store().find(RUN)).toBeUndefined();
  });

  test.each([
    ['numbers', [5]],
    ['two-byte elements', [new Uint16Array(4)]],
    ['null', [null]],
  ])('is rejected if it is a stream of %s', async (_, pieces) => {
    const { store } = scene();
    const stream = (async function* () {
      yield* pieces as unknown[] as Uint8Array[];
    })();
    const save = store().save({ run: RUN, state: payload(stream) });
    await expect(save).rejects.toThrow(/Each chunk of the stream of a payload must be a Uint8Array/);
  });

  test('does not include a stream that reuses one buffer for all chunks, which is saved correctly', async () => {
    const { store } = scene();
    const keys = localKeys({ current: 'k', keys: { k: randomBytes(32) } });
    const buffer = Buffer.alloc(1000);
    const stream = (async function* () {
      for (let n = 0; n < 5; n++) yield buffer.fill(n);
    })();
    await store({ keys }).save({ run: RUN, state: { log: payload(stream) } });
    const { state } = await store<{ log: ReturnType<typeof payload> }>({ keys }).load(RUN);
    expect(Buffer.from(await state.log.bytes())).toEqual(
      Buffer.concat([0, 1, 2, 3, 4].map((n) => Buffer.alloc(1000, n))),
    );
  });

  test('is not read to its end if it is a payload that has grown in the storage', async () => {
    const { store, storage, stored } = scene();
    await store().save({ run: RUN, state: { log: payload('xy') } });
    const [{ id } = { id: '' }] = await stored().payloads();
    let read = 0;
    const endless = async function* () {
      for (;;) {
        read++;
        yield Buffer.alloc(1024);
      }
    };
    const loaded = { ...storage.payloads, open: async () => endless() };
    const { state } = await createCheckpointStore<{ log: ReturnType<typeof payload> }>({
      ...storage,
      payloads: loaded,
    }).load(RUN);
    expect(id).not.toBe('');
    await expect(state.log.text()).rejects.toMatchObject({ code: 'DAMAGED' });
    expect(read).toBeLessThan(3);
  });
});

describe('a folder', () => {
  test('is accessible only to its owner, no matter what the run is called', async () => {
    const folder = join(await mkdtemp(join(tmpdir(), 'waitstate-forged-')), 'data');
    const store = embeddedStore({ folder });
    for (const run of ['.', '..', '../../x']) await store.save({ run, state: payload(run) });
    expect(statSync(folder).mode & 0o077).toBe(0);
    expect((await readdir(folder)).sort()).toEqual(expect.arrayContaining(['payloads', 'records.sqlite']));
    expect(await readdir(join(folder, 'payloads'))).toHaveLength(3);
    await store.close();
  });

  test('does not wait for a lock file that is dated in the future', async () => {
    const folder = join(await mkdtemp(join(tmpdir(), 'waitstate-forged-')), 'data');
    const store = embeddedStore({ folder });
    await store.save({ run: RUN, state: payload('one') });
    const [own = ''] = await readdir(join(folder, 'payloads'));
    const lock = join(folder, 'payloads', own, 'removing.lock');
    writeFileSync(lock, '');
    utimesSync(lock, Date.now() / 1000 + 3600, Date.now() / 1000 + 3600);
    await store.update(RUN, () => payload('two'));
    expect(await store.load(RUN)).toMatchObject({ version: 2 });
    await store.close();
  });
});
