import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { type Payload, payload } from '../../../lambda/checkpoints/payload.ts';
import { memoryStorage } from '../../../lambda/storage/memory.ts';
import { randomText } from './random-text.ts';
import { recordCalls } from './record-calls.ts';
import { flipBit } from './stored-run.ts';
import type { OpenStores } from './stores.ts';

interface State {
  page: Payload;
}

async function* pieces(...parts: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === 'string' ? Buffer.from(part) : part;
}

export function payloadsContract(open: OpenStores): void {
  describe('a payload', () => {
    test.each<[string, () => Payload, string]>([
      ['bytes', () => payload(new Uint8Array([104, 105])), 'hi'],
      ['a part of a larger buffer', () => payload(Buffer.from('-hi-').subarray(1, 3)), 'hi'],
      ['text', () => payload('grüße 👋'), 'grüße 👋'],
      ['an empty text', () => payload(''), ''],
      ['an async iterable', () => payload(pieces('one ', 'two', '')), 'one two'],
      ['an empty stream', () => payload(pieces()), ''],
      ['a Node stream', () => payload(Readable.from([Buffer.from('no'), Buffer.from('de')])), 'node'],
      ['a web stream', () => payload(ReadableStream.from(pieces('we', 'b'))), 'web'],
    ])('can be created from %s', async (_, make, text) => {
      const { store, run } = open();
      const saved = await store<State>().save({ run, state: { page: make() } });
      const loaded = await store<State>().load(run);
      for (const { page } of [saved.state, loaded.state]) {
        expect(await page.text()).toBe(text);
        expect(await page.bytes()).toStrictEqual(Uint8Array.from(Buffer.from(text)));
        expect(page.size).toBe(Buffer.byteLength(text));
      }
    });

    test('has its type and digest without being fetched', async () => {
      const { store, run, storage } = open();
      const page = payload('<html>', { type: 'text/html', digest: 'a page about cats' });
      await store().save({ run, state: { page, plain: payload('x'), typed: payload('y', { type: 't' }) } });
      const counting = recordCalls(storage);
      const reader = store<{ page: Payload; plain: Payload; typed: Payload }>({}, counting);
      const { state } = await reader.load(run);
      await reader.load(run, 1);
      await reader.save({ run, state: { ...state, more: 1 } as typeof state });
      expect(state.page).toMatchObject({ type: 'text/html', digest: 'a page about cats', size: 6 });
      expect([state.plain.type, state.plain.digest, state.typed.type, state.typed.digest]).toEqual([
        undefined,
        undefined,
        't',
        undefined,
      ]);
      expect(counting.calls).not.toContain('open');
      expect(await state.page.text()).toBe('<html>');
      expect(counting.calls.filter((call) => call === 'open')).toHaveLength(1);
    });

    test('keeps the bytes that it was created from, even if they change later', async () => {
      const { store, run } = open();
      const bytes = Buffer.from('before');
      const page = payload(bytes);
      bytes.write('AFTER!');
      await store().save({ run, state: { page } });
      expect(await (await store<State>().load(run)).state.page.text()).toBe('before');
    });

    test('is stored once, no matter how often and in which form the same bytes are used', async () => {
      const { store, run, stored } = open();
      const saver = store();
      const page = payload('same');
      await saver.save({ run, state: { page, again: page, equal: payload('same', { type: 'other' }) } });
      await saver.save({
        run,
        state: { page: payload('same'), list: [payload(pieces('sa', 'me'))] },
        toolResults: { page },
      });
      await store<{ page: Payload }>().update(run, (draft) => void Object.assign(draft, { copy: draft.page }));
      expect(await stored().payloads()).toHaveLength(1);
      const { state, toolResults } = await store<{ page: Payload; copy: Payload; list: Payload[] }>().load(run);
      for (const found of [state.page, state.copy, state.list[0], toolResults.page]) {
        expect(await (found as Payload).text()).toBe('same');
      }
      expect((await store<{ equal: Payload }>().load(run, 1)).state.equal).toMatchObject({ type: 'other' });
    });

    test('can be used in another run, for which the storage copies it', async () => {
      const { store, run, storage, stored } = open();
      await store().save({ run, state: { page: payload('travels', { type: 'text/plain' }) } });
      const counting = recordCalls(storage);
      const mover = store<State>({}, counting);
      const { state } = await mover.load(run);
      await mover.save({ run: `${run} 2`, state });
      await mover.save({ run: `${run} 2`, state: { ...state } });
      expect(counting.calls.filter((call) => ['put', 'open', 'copy'].includes(call))).toEqual(['copy']);
      expect(await stored(`${run} 2`).payloads()).toHaveLength(1);
      await store().delete(run);
      const moved = await store<State>().load(`${run} 2`);
      expect(moved.state.page.type).toBe('text/plain');
      expect(await moved.state.page.text()).toBe('travels');
    });

    test('can be used in another storage under the same id', async () => {
      const { store, run } = open();
      const other = memoryStorage();
      const page = payload('travels far');
      const streamed = payload(pieces('travels ', 'as a stream'));
      await store().save({ run, state: { page, streamed } });
      await store({}, other).save({ run, state: { page, streamed } });
      const { state } = await store<{ page: Payload; streamed: Payload }>({}, other).load(run);
      expect([await state.page.text(), await state.streamed.text()]).toEqual(['travels far', 'travels as a stream']);
      await store({}, other).save({ run: `${run} 2`, state });
      const back = await store<State>({}, other).load(`${run} 2`);
      expect(await back.state.page.text()).toBe('travels far');
    });

    test.each<[string, (bytes: Buffer) => Uint8Array]>([
      ['altered', (bytes) => flipBit(bytes)],
      ['truncated', (bytes) => bytes.subarray(0, -1)],
      ['emptied', () => new Uint8Array()],
      ['extended', (bytes) => Buffer.concat([bytes, Buffer.from('x')])],
    ])('is rejected with its id when it was %s in the storage', async (_, change) => {
      const { store, run, stored } = open();
      await store().save({ run, state: { page: payload(randomText(1, 300_000)) } });
      const [found] = await stored().payloads();
      await stored().alterPayload(found?.id ?? '', change);
      const { state } = await store<State>().load(run);
      await expect(state.page.bytes()).rejects.toMatchObject({
        code: 'DAMAGED',
        message: expect.stringContaining(`Payload ${found?.id}`),
      });
      await expect(store().verify(run)).resolves.toMatchObject({ ok: false, problems: [{ version: 1 }] });
    });

    test('is rejected with its id when it was removed from the storage, and so is a fork', async () => {
      const { store, run, stored, storage } = open();
      await store().save({ run, state: { page: payload('gone') } });
      const [found] = await stored().payloads();
      await storage.payloads.remove(stored().partition, [found?.id ?? '']);
      const { state } = await store<State>().load(run);
      await expect(state.page.text()).rejects.toMatchObject({
        code: 'DAMAGED',
        message: expect.stringMatching(new RegExp(`Payload ${found?.id} .* missing in the storage`)),
      });
      await expect(store().fork(run, { id: `${run} 2` })).rejects.toMatchObject({ code: 'DAMAGED' });
      expect(await stored(`${run} 2`).records()).toEqual([]);
    });

    test('never returns its last chunk before all of it was verified', async () => {
      const { store, run, stored } = open();
      const text = randomText(1, 3_000_000);
      await store().save({ run, state: { page: payload(text) } });
      const [found] = await stored().payloads();
      await stored().alterPayload(found?.id ?? '', (bytes) => flipBit(bytes, 10));
      const { state } = await store<State>().load(run);
      let received = 0;
      const read = async () => {
        for await (const piece of state.page.stream()) received += piece.length;
      };
      await expect(read()).rejects.toMatchObject({ code: 'DAMAGED' });
      expect(received).toBeLessThan(text.length);
    });

    test('leaves nothing behind when its stream fails, and can be created again', async () => {
      const { store, run, stored } = open();
      const saver = store();
      await saver.save({ run, state: 'before' });
      const failing = payload(
        (async function* () {
          yield Buffer.from(randomText(1, 100_000));
          throw new Error('the source went away');
        })(),
      );
      await expect(saver.save({ run, state: { page: failing } })).rejects.toThrow('the source went away');
      expect(await stored().payloads()).toEqual([]);
      expect(await store().load(run)).toMatchObject({ version: 1, state: 'before' });
      await expect(saver.save({ run, state: { page: failing } })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      await saver.save({ run, state: { page: payload(pieces('second try')) } });
      expect(await (await store<State>().load(run)).state.page.text()).toBe('second try');
    });

    test('survives the retry of a save that lost or whose storage was unavailable, when it is a stream', async () => {
      const { store, run, storage } = open();
      let failures = 0;
      const failing = recordCalls(storage, {
        beforeCommit: () => {
          if (failures-- > 0) throw new Error('the storage is away');
        },
      });
      const saver = store<State | string>({}, failing);
      await saver.save({ run, state: 'before' });
      await store().save({ run, expectedVersion: 1, state: 'faster' });
      const page = payload(pieces('read ', 'once'));
      await expect(saver.save({ run, expectedVersion: 1, state: { page } })).rejects.toMatchObject({
        code: 'STALE_VERSION',
      });
      failures = 1;
      await expect(saver.update(run, () => ({ page }))).rejects.toThrow('the storage is away');
      await saver.update(run, () => ({ page }));
      expect(await (await store<State>().load(run)).state.page.text()).toBe('read once');
      expect((await store().verify(run)).ok).toBe(true);
    });

    test('cannot be read before it was saved, when it is a stream', async () => {
      const page = payload(pieces('a'));
      expect(page.size).toBeUndefined();
      await expect(page.text()).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      expect(await payload('text').text()).toBe('text');
    });

    test('rejects invalid content, and a digest above 1,000 characters', () => {
      for (const content of [undefined, null, 5, {}, [1], new Map()]) {
        expect(() => payload(content as unknown as string)).toThrow(
          /content of a payload must be bytes, text or a stream/,
        );
      }
      expect(payload('x', { digest: 'd'.repeat(1000) }).digest).toHaveLength(1000);
      expect(() => payload('x', { digest: 'd'.repeat(1001) })).toThrow(
        /digest of a payload must be at most 1,000 characters/,
      );
    });

    test('streams 20 MB in both directions, chunk by chunk', async () => {
      const { store, run } = open();
      const piece = Buffer.from(randomText(7, 1_000_000));
      const hash = createHash('sha256');
      let ahead = 0;
      let max = 0;
      const source = (async function* () {
        for (let i = 0; i < 20; i++) {
          const part = Buffer.concat([Buffer.from([i]), piece]);
          hash.update(part);
          ahead += part.length;
          max = Math.max(max, part.length);
          yield part;
        }
      })();
      await store().save({ run, state: { page: payload(source) } });
      const { state } = await store<State>().load(run);
      expect(state.page.size).toBe(ahead);
      const read = createHash('sha256');
      let largest = 0;
      for await (const part of state.page.stream()) {
        read.update(part);
        largest = Math.max(largest, part.length);
      }
      expect(read.digest('hex')).toBe(hash.digest('hex'));
      expect(largest).toBeLessThan(ahead / 2);
    });

    test('cannot be forged by a state that resembles a reference to a payload', async () => {
      const { store, run } = open();
      await store().save({ run: `${run} 2`, state: { page: payload('a secret of another run') } });
      const forged = { page: { $: ['payload', 'id', 'hash', 5] } };
      await store().save({ run, state: forged });
      expect((await store().load(run)).state).toStrictEqual(forged);
    });
  });
}
