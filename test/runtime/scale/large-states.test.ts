import { rm } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { dynamoStorage } from '../../../lambda/dynamodb.ts';
import { embeddedStorage } from '../../../lambda/embedded.ts';
import { agent } from '../../../lambda/runtime/agent/agent.ts';
import type { Storage } from '../../../lambda/storage/ports.ts';
import { dynamoClient, freshBucket, freshTable, s3Client } from '../../engines/engines.ts';
import { noise } from '../../faults/seeded.ts';
import { memoryFolder } from '../../memory-folder.ts';
import { countingStorage } from './counted.ts';
import { inColdProcess, invoke } from './process.ts';

interface SharedStorage {
  /** Opens the storage as another process would. */
  open(): Storage;
  close(): Promise<void>;
}

async function inFolder(): Promise<SharedStorage> {
  const folder = memoryFolder();
  return { open: () => embeddedStorage({ folder }), close: () => rm(folder, { recursive: true }) };
}

async function onAws(): Promise<SharedStorage> {
  const [table, bucket] = await Promise.all([freshTable(), freshBucket()]);
  const open = () => dynamoStorage({ table, bucket, dynamoDBClient: dynamoClient(), s3Client: s3Client() });
  return { open, close: async () => {} };
}

const MEGABYTE = 1024 * 1024;
const PAGES = 2_000;
const PAGE_LENGTH = (20 * MEGABYTE) / PAGES;

const reader = agent({
  name: 'reader',
  state: {
    initial: () => ({
      pages: Array.from({ length: PAGES }, (_, i) => ({ number: i, read: false, text: noise(i, PAGE_LENGTH) })),
    }),
  },
  async run(ctx) {
    const first = await ctx.step('look', () => 7);
    await ctx.waitForSignal('read');
    await ctx.update((draft) => {
      const page = draft.pages[first];
      if (page) page.read = true;
    });
    await ctx.step('read', () => 'done');
    const read = ctx.state.pages.filter((page) => page.read);
    return { pages: ctx.state.pages.length, read: read.map(({ number, text }) => [number, text]) };
  },
});

describe.each([
  ['in a folder', inFolder],
  ['on DynamoDB and S3', onAws],
])('a state of 20 MB %s', (_, open) => {
  test('is suspended, resumed by another process and changed, and only the change is written', async () => {
    const shared = await open();
    const [one, other] = [countingStorage(shared.open()), countingStorage(shared.open())];
    try {
      await inColdProcess(reader, one).start(null, { id: 'run' });
      expect(await invoke(inColdProcess(reader, one), 'run')).toMatchObject({ status: 'WAITING_FOR_SIGNAL' });
      // The state is written once: the step and the wait add almost nothing.
      const { payloadBytesWritten, bytesWritten, puts } = one.since();
      expect(puts).toBe(1);
      expect(payloadBytesWritten).toBeLessThan(20 * MEGABYTE);
      expect(bytesWritten).toBeLessThan(8 * 1024);

      await inColdProcess(reader, other).run('run').signal('read');
      expect(other.since()).toMatchObject({ opens: 0 });
      expect(await invoke(inColdProcess(reader, other), 'run')).toMatchObject({ status: 'SUCCEEDED' });
      const resumed = other.since();
      expect([resumed.opens, resumed.puts]).toEqual([1, 0]);
      expect(resumed.bytesRead + resumed.bytesWritten).toBeLessThan(16 * 1024);

      const there = inColdProcess(reader, one);
      expect(await there.run('run').result()).toEqual({ pages: PAGES, read: [[7, noise(7, PAGE_LENGTH)]] });
      expect((await there.store.verify('run')).problems).toEqual([]);
    } finally {
      await Promise.all([one.records.close(), other.records.close(), one.payloads.close(), other.payloads.close()]);
      await shared.close();
    }
  });
});
