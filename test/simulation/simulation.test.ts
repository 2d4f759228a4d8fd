import { execFile } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { BREAKS } from './breaks.ts';

const MAIN = new URL('./main.ts', import.meta.url).pathname;

/** Node itself, and not this test's loader: what happens when must not depend on who runs it. */
function simulate(...args: readonly string[]): Promise<{ readonly code: number; readonly said: string }> {
  return new Promise((resolve) => {
    const options = { maxBuffer: 2 ** 28, env: { ...process.env, NODE_OPTIONS: '' } };
    execFile(process.execPath, [MAIN, ...args], options, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), said: stdout + stderr }),
    );
  });
}

describe('the simulation of durable runs', () => {
  it('finds nothing wrong in any of its worlds', { timeout: 600_000 }, async () => {
    const { code, said } = await simulate('--seeds', '3000');
    expect(said).toContain('all is well');
    expect(code).toBe(0);
  });

  it('goes the same way for the same seed', async () => {
    const { said } = await simulate('--trace', '11');
    const again = await simulate('--trace', '11');
    expect(said).toContain('It goes the same way every time.');
    expect(again.said).toBe(said);
  });

  it.each(Object.keys(BREAKS))('notices that %s is taken out', { timeout: 600_000 }, async (name) => {
    const { code, said } = await simulate('--seeds', '1000', '--break', name);
    expect(said).toMatch(/Seed \d+ without .*: FAILED/);
    expect(said).toContain('It goes the same way every time.');
    expect(code).toBe(1);
  });

  it('says how it is used', async () => {
    expect((await simulate('--help')).said).toContain('--first-seed');
    expect((await simulate('--break', 'nothing')).code).toBe(2);
  });
});
