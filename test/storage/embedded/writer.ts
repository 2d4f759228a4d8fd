import { writeSync } from 'node:fs';
import { embeddedStorage } from '../../../lambda/storage/embedded/embedded-storage.ts';
import { ConditionFailedError } from '../../../lambda/storage/ports.ts';

// A separate process for the tests: creates records `k0`, `k1`, … and a payload with each, and prints the keys that
// it created.
const [folder = '', writer = '', count = ''] = process.argv.slice(2);
const { records, payloads } = embeddedStorage({ folder });

for (let i = 0; i < Number(count); i++) {
  const key = `k${i}`;
  const record = { partition: 't/r', key, revision: `${writer}.${i}`, meta: writer, body: new Uint8Array(1000) };
  try {
    await payloads.put('t/r', `${writer}.${key}`, new Uint8Array(2000));
    await records.commit([{ put: record, when: 'absent' }]);
    // Synchronous, so that nothing is reported later than it was confirmed, or lost when the process is killed.
    writeSync(1, `${key}\n`);
  } catch (error) {
    if (!(error instanceof ConditionFailedError)) throw error;
    await payloads.remove('t/r', [`${writer}.${key}`]);
  }
}
await records.close();
