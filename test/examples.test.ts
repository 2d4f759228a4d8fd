import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = async (name: string): Promise<string> => {
  const program = fileURLToPath(new URL(`../examples/programs/${name}.ts`, import.meta.url));
  // Rejects if the exit code is not 0.
  return (await promisify(execFile)(process.execPath, [program])).stdout;
};

describe('an example program', () => {
  it('remembers a conversation across processes', async () => {
    expect(await run('remember')).toContain('version 2  What did I say?  →  You first said: "I take the train."');
  });

  it('pays for a search once even if a fork takes another path', async () => {
    const output = await run('what-if');
    expect(output).toContain('trip: direct for $640');
    expect(output).toContain('what if the budget were $300? two stops for $270');
    expect(output).toContain('searches paid: 1');
    expect(output).toContain('+ flight');
  });

  it('waits for an approval and resumes in another process', async () => {
    const output = await run('worker');
    expect(output).toContain('run refund-o-17 is WAITING_FOR_APPROVAL: Refund $30 to Ann?');
    expect(output).toContain('result: {"refunded":true,"paid":30}');
    expect(output.match(/looks for order/g)).toHaveLength(1);
    expect(output.match(/pays \$30/g)).toHaveLength(1);
  });

  it('encrypts a run, which cannot be read after its key is destroyed', async () => {
    const output = await run('encrypted');
    expect(output).toContain('with the key: P-1138, letter of the clinic, one line: The knee is better.');
    expect(output).toContain('on disk: nothing readable');
    expect(output).toContain('after shred: The key of run "claim-7" was destroyed');
  });
});
