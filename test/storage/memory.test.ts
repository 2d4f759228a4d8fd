import { expect, it } from 'vitest';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { payloadStoreContract } from '../contract/payload-store.ts';
import { recordStoreContract } from '../contract/record-store.ts';

recordStoreContract('memory', async () => memoryStorage().records);
payloadStoreContract('memory', async () => memoryStorage().payloads);

it('the memory storage dates payloads by the given clock', async () => {
  const { payloads } = memoryStorage({ clock: () => 1_234 });
  await payloads.put('t/r', 'a', new Uint8Array(3));
  await payloads.copy({ partition: 't/r', id: 'a' }, { partition: 't/r', id: 'b' });
  const listed: { id: string; writtenAt: number }[] = [];
  for await (const { id, writtenAt } of payloads.list('t')) listed.push({ id, writtenAt });
  expect(listed).toStrictEqual([
    { id: 'a', writtenAt: 1_234 },
    { id: 'b', writtenAt: 1_234 },
  ]);
});
