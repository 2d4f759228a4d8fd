// A run with a payload, encrypted with its own key. After the key is destroyed, the run can never be read again.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isWaitstateError, localKeys, type Payload, payload } from '../../lambda/checkpoints.ts'; // users write: 'waitstate/checkpoints'
import { checkpointStore } from '../../lambda/embedded.ts'; // users write: 'waitstate/embedded'

interface Claim {
  readonly patient: string;
  readonly letter: Payload;
}

const folder = mkdtempSync(join(tmpdir(), 'waitstate-encrypted-'));
// In production, load the key from a secret store, or use `kmsKeys` from waitstate/kms.
const keys = localKeys({ current: 'key-2026', keys: { 'key-2026': randomBytes(32) } });
const store = checkpointStore<Claim>({ folder, keys });

const letter = payload('The knee is better.', { type: 'text/plain', digest: 'letter of the clinic, one line' });
await store.save({ run: 'claim-7', step: 'read letter', state: { patient: 'P-1138', letter } });

const { state } = await store.load('claim-7');
console.log(`with the key: ${state.patient}, ${state.letter.digest}: ${await state.letter.text()}`);

const onDisk = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
const readable = onDisk.some((file) => /P-1138|knee/.test(readFileSync(join(file.parentPath, file.name), 'latin1')));
console.log(`on disk: ${readable ? 'readable' : 'nothing readable'}, in ${onDisk.length} files`);

await store.shred('claim-7');
try {
  await store.load('claim-7');
} catch (error) {
  if (!isWaitstateError(error, 'RUN_SHREDDED')) throw error;
  console.log(`after shred: ${error.message}`);
}

await store.close();
rmSync(folder, { recursive: true });
