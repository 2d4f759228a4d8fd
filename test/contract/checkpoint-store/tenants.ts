import { describe, expect, test } from 'vitest';
import { type Payload, payload } from '../../../lambda/checkpoints/payload.ts';
import { eventually } from '../eventually.ts';
import { all, DAY, type OpenStores } from './stores.ts';

export function tenantsContract(open: OpenStores): void {
  describe('two tenants', () => {
    test('can use the same ids, and see nothing of each other', async () => {
      const { store, run, tenant } = open();
      const names = [tenant, `${tenant}x`, `${tenant}/`, `${tenant}/${run}`, tenant.toUpperCase()];
      for (const name of names) {
        await store({ tenant: name }).save({
          run,
          state: { of: name, page: payload(`page of ${name}`) },
          name: 'n',
          owner: 'o',
        });
      }
      for (const name of names) {
        const own = store<{ of: string; page: Payload }>({ tenant: name });
        const { state } = await own.load(run, { name: 'n' });
        expect(state.of).toBe(name);
        expect(await state.page.text()).toBe(`page of ${name}`);
        await eventually(async () => {
          expect(await all(own.runs())).toHaveLength(1);
          expect(await all(own.runs({ owner: 'o' }))).toHaveLength(1);
        });
      }
      await store({ tenant }).delete(run);
      for (const name of names.slice(1))
        expect(await store({ tenant: name }).load(run)).toMatchObject({ state: { of: name } });
    });

    test('cannot be confused by similar ids', async () => {
      const { store, tenant } = open();
      // Pairs of tenant and run that would be one when joined carelessly.
      const pairs = [
        [tenant, 'a/b'],
        [`${tenant}/a`, 'b'],
        [tenant, 'a%2Fb'],
        [`${tenant}%2Fa`, 'b'],
        [tenant, `../${tenant}/a`],
        [tenant, 'b/../a'],
      ] as const;
      for (const [name, run] of pairs) await store({ tenant: name }).save({ run, state: [name, run] });
      for (const [name, run] of pairs) expect((await store({ tenant: name }).load(run)).state).toEqual([name, run]);
    });

    test('have stores that report their own tenant', () => {
      const { store } = open();
      expect(store({ tenant: 'x' }).tenant).toBe('x');
    });
  });

  describe('the id of a run', () => {
    const IDS = [
      'with spaces',
      'a/b/c',
      '/',
      '//',
      '..',
      '.',
      '../..',
      '%2F',
      '%',
      '%%30',
      '#?&=+;:@$,!*\'()[]{}|\\^`~"<>',
      'ünïcödé 名前 👩‍👩‍👧',
      '\u0000\n\t',
      '__proto__',
      'con',
      'cz',
      'x'.repeat(256),
      'ü'.repeat(42),
    ];

    test.each(IDS)('can be %j', async (run) => {
      const { store } = open();
      const saver = store<{ page: Payload }>();
      await saver.save({ run, state: { page: payload('a page') }, owner: run.slice(0, 20), name: 'n' });
      await saver.save({ run, status: 'SLEEPING' });
      const { state } = await store<{ page: Payload }>().load(run, { name: 'n' });
      expect(await state.page.text()).toBe('a page');
      expect(await store().describe(run)).toMatchObject({ run, owner: run.slice(0, 20) });
      await eventually(async () => {
        expect((await all(store().runs())).map((found) => found.run)).toEqual([run]);
        expect(await all(store().runs({ owner: run.slice(0, 20) }))).toHaveLength(1);
      });
    });

    test.each(IDS)('removes only its own run when it is %j', async (run) => {
      const { store, clock, stored } = open();
      const saver = store();
      await saver.save({ run: 'stays', state: { page: payload('stays') } });
      await saver.save({ run, state: { page: payload('goes') } });
      expect(await stored(run).payloads()).toHaveLength(1);
      await saver.delete(run);
      expect(await stored(run).payloads()).toEqual([]);
      clock.forward(2 * DAY);
      expect(await saver.collect()).toMatchObject({ payloadsRemoved: 0, failed: [] });
      await eventually(async () => expect(await saver.sweep()).toMatchObject({ freed: 1, failed: [] }));
      expect(await stored(run).records()).toEqual([]);
      const { state } = await store<{ page: Payload }>().load('stays');
      expect(await state.page.text()).toBe('stays');
    });

    test.each<[unknown, RegExp]>([
      ['', /The run id must be text of at least one character; found ""/],
      ['x'.repeat(257), /The run id must be at most 256 bytes after escaping; found "257 bytes/],
      ['ü'.repeat(43), /at most 256 bytes after escaping; found "258 bytes/],
      ['\ud83d', /well-formed Unicode/],
      ['a\udc00b', /well-formed Unicode/],
      [undefined, /The run id must be text/],
      [null, /The run id must be text/],
      [42, /The run id must be text of at least one character; found 42/],
      [{}, /The run id must be text/],
    ])('cannot be %j in any operation', async (id, message) => {
      const { store } = open();
      const run = id as string;
      const used = store();
      const uses: Promise<unknown>[] = [
        used.save({ run, state: 1 }),
        used.load(run),
        used.find(run),
        used.update(run, () => 1),
        all(used.history(run)),
        used.describe(run),
        used.diff(run, 1, 2),
        used.fork(run),
        used.rewind(run, 1),
        used.undo(run),
        used.redo(run),
        used.verify(run),
        used.prune(run, { keepLast: 1 }),
        used.delete(run),
        used.rotateKey(run),
        used.shred(run),
      ];
      for (const use of await Promise.allSettled(uses)) {
        expect(use).toMatchObject({
          status: 'rejected',
          reason: { code: 'INVALID_INPUT', message: expect.stringMatching(message) },
        });
      }
    });

    test('follows the same rules as the id of a tenant, which is checked when the store is created', () => {
      const { store } = open();
      for (const tenant of ['', 'x'.repeat(257), '\ud800', 5 as unknown as string]) {
        expect(() => store({ tenant })).toThrow(/The tenant id must be/);
      }
      for (const tenant of ['..', 'a/b', '%2F', 'ü'.repeat(42), ' ']) expect(store({ tenant }).tenant).toBe(tenant);
    });
  });
}
