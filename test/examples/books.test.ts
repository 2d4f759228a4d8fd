import { execFile } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createLedger } from '../../examples/simulated/create-ledger.ts';
import { freshServices, totalOf } from './simulated.ts';

const source = fileURLToPath(new URL('../../examples/simulated/create-ledger.ts', import.meta.url));

/** Records an entry in another process and returns the amount that is recorded under its key. */
async function recordInOtherProcess(amount: number): Promise<number> {
  const program = `import { createLedger } from ${JSON.stringify(source)};
    const line = await createLedger('bank').record({ key: 'k', what: 'refund', amount: ${amount} });
    console.log(line.amount);`;
  return Number((await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])).stdout);
}

freshServices();

describe('the ledger of a simulated service', () => {
  it('keeps the first entry of a key', async () => {
    const bank = createLedger('bank');
    await bank.record({ key: 'k', what: 'refund', amount: 1 });
    expect(await bank.record({ key: 'k', what: 'refund', amount: 2 })).toMatchObject({ amount: 1 });
    await bank.record({ key: 'l', what: 'refund', amount: 3 });
    expect(await totalOf(bank)).toBe(4);
    const file = join(String(process.env.WAITSTATE_FOLDER), 'examples', 'bank.jsonl');
    expect(readFileSync(file, 'utf8').match(/\n/g)).toHaveLength(2);
    // A concurrent process may append a second entry with the same key.
    appendFileSync(file, `${JSON.stringify({ key: 'k', what: 'refund', amount: 9 })}\n`);
    expect(await totalOf(bank)).toBe(4);
    expect(await bank.record({ key: 'k', what: 'refund', amount: 2 })).toMatchObject({ amount: 1 });
  });

  it('returns the same entry to processes that record it concurrently', async () => {
    const amounts = await Promise.all([1, 2, 3, 4].map(recordInOtherProcess));
    expect(new Set(amounts).size).toBe(1);
    expect(await createLedger('bank').entries()).toEqual([{ key: 'k', what: 'refund', amount: amounts[0] }]);
  });
});
