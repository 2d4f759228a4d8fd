import { describe, expect, test } from 'vitest';
import { type Payload, payload } from '../../../lambda/checkpoints/payload.ts';
import { keys } from './keys.ts';
import { randomText } from './random-text.ts';
import { flipBit } from './stored-run.ts';
import type { OpenStores, Stores } from './stores.ts';

export function encryptedPayloadsContract(open: OpenStores): void {
  describe('an encrypted payload', () => {
    const MEGABYTE = 1_000_000;

    async function streamed(stores: Stores, megabytes: number) {
      const { store, run, stored } = stores;
      const source = (async function* () {
        for (let i = 0; i < megabytes; i++) yield Buffer.from(randomText(i, MEGABYTE));
      })();
      await store({ keys }).save({ run, state: { page: payload(source) } });
      const [found] = await stored().payloads();
      const read = async () => (await store<{ page: Payload }>({ keys }).load(run)).state.page;
      return { ...stores, id: found?.id ?? '', read };
    }

    test('streams several megabytes in both directions', async () => {
      const { read } = await streamed(open(), 5);
      const page = await read();
      expect(page.size).toBe(5 * MEGABYTE);
      const text = await page.text();
      for (let i = 0; i < 5; i++)
        expect(text.slice(i * MEGABYTE, (i + 1) * MEGABYTE) === randomText(i, MEGABYTE)).toBe(true);
    });

    test.each([0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 2 << 20])('round-trips %i bytes', async (size) => {
      const { store, run } = open();
      const content = new Uint8Array(size).fill(7);
      await store({ keys }).save({
        run,
        state: {
          page: payload(content),
          streamed: payload(
            (async function* () {
              yield content;
            })(),
          ),
        },
      });
      const { state } = await store<{ page: Payload; streamed: Payload }>({ keys }).load(run);
      for (const page of [state.page, state.streamed])
        expect(Buffer.from(content).equals(await page.bytes())).toBe(true);
    });

    const FRAME = (1 << 20) + 28;
    test.each<[string, (bytes: Buffer) => Uint8Array]>([
      ['altered in its first frame', (found) => flipBit(found, 100)],
      ['altered in its last frame', (found) => flipBit(found, found.length - 5)],
      ['truncated in the middle of a frame', (found) => found.subarray(0, FRAME + 1000)],
      ['truncated at the end of a frame', (found) => found.subarray(0, 2 * FRAME)],
      ['emptied', () => new Uint8Array()],
      ['extended by a frame', (found) => Buffer.concat([found, found.subarray(0, FRAME)])],
      [
        'altered in the order of its frames',
        (found) =>
          Buffer.concat([found.subarray(FRAME, 2 * FRAME), found.subarray(0, FRAME), found.subarray(2 * FRAME)]),
      ],
      ['stripped of a frame', (found) => Buffer.concat([found.subarray(0, FRAME), found.subarray(2 * FRAME)])],
    ])('is rejected when it was %s', async (_, change) => {
      const { stored, id, read } = await streamed(open(), 3);
      await stored().alterPayload(id, change);
      await expect((await read()).bytes()).rejects.toMatchObject({
        code: 'DAMAGED',
        message: expect.stringContaining(id),
      });
    });

    test.each<[string, (bytes: Buffer) => Uint8Array]>([
      ['swapped', (found) => Buffer.concat([found.subarray(FRAME, 2 * FRAME), found.subarray(0, FRAME)])],
      ['repeated', (found) => Buffer.concat([found.subarray(0, FRAME), found.subarray(0, FRAME), found])],
      ['omitted', (found) => Buffer.concat([found.subarray(0, FRAME), found.subarray(2 * FRAME)])],
      ['removed from the end', (found) => found.subarray(0, 2 * FRAME)],
    ])('returns no misplaced chunk when its frames were %s', async (_, change) => {
      const { stored, id, read } = await streamed(open(), 3);
      await stored().alterPayload(id, change);
      const received: Uint8Array[] = [];
      const reading = async () => {
        for await (const piece of (await read()).stream()) received.push(piece);
      };
      await expect(reading()).rejects.toMatchObject({ code: 'DAMAGED' });
      expect(received).toEqual([]);
    });

    test('cannot be decrypted under another id or in another run', async () => {
      const { store, run, stored, storage } = open();
      const saver = store({ keys });
      await saver.save({ run, state: { a: payload('aaaa'), b: payload('bbbb') } });
      const [one, two] = await stored().payloads();
      const content = await stored().bytes(one?.id ?? '');
      await storage.payloads.put(stored().partition, two?.id ?? '', Uint8Array.from(content));
      const { state } = await store<{ a: Payload; b: Payload }>({ keys }).load(run);
      const outcomes = await Promise.allSettled([state.a.text(), state.b.text()]);
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'DAMAGED' });
      }
    });
  });
}
