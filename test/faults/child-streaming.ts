import { createHash } from 'node:crypto';
import { argv, memoryUsage } from 'node:process';
import { localKeys } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { payload } from '../../lambda/checkpoints/payload.ts';
import { checkpointStore } from '../../lambda/embedded.ts';

const [, , folder = '', megabytes = '', encrypted = ''] = argv;
const MEGABYTE = 1 << 20;

// Sampled, because the `maxRSS` of a process also counts the memory of the process that started it.
let peak = 0;
const measure = (): void => {
  peak = Math.max(peak, memoryUsage.rss());
};

async function* content() {
  for (let index = 0; index < Number(megabytes); index++) {
    measure();
    yield Buffer.alloc(MEGABYTE, createHash('sha256').update(`${index}`).digest());
  }
}

const store = checkpointStore<{ log: ReturnType<typeof payload> }>({
  folder,
  ...(encrypted === 'encrypted' && { keys: localKeys({ current: 'k', keys: { k: new Uint8Array(32) } }) }),
});
const before = memoryUsage.rss();
await store.save({ run: 'large', state: { log: payload(content()) } });
const { state } = await store.load('large');
const hash = createHash('sha256');
let bytes = 0;
for await (const piece of state.log.stream()) {
  hash.update(piece);
  bytes += piece.length;
  measure();
}
const expected = createHash('sha256');
for await (const piece of content()) expected.update(piece);
const grown = peak - before;
console.log(JSON.stringify({ bytes, same: hash.digest('hex') === expected.digest('hex'), grown }));
