import { execFile } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { BREAKS } from './breaks.ts';

const MAIN = new URL('./main.ts', import.meta.url).pathname;

/** Runs the program with plain Node, because the test's module loader would change the order of events. */
function simulate(...args: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    const options = { maxBuffer: 2 ** 28, env: { ...process.env, NODE_OPTIONS: '' } };
    execFile(process.execPath, [MAIN, ...args], options, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    );
  });
}

describe('the simulation of durable runs', () => {
  it('finds no problems in 3,000 worlds', { timeout: 600_000 }, async () => {
    const { code, output } = await simulate('--seeds', '3000');
    expect(output).toContain('no problems found');
    expect(code).toBe(0);
  });

  it('gives the same trace for the same seed', async () => {
    const { output } = await simulate('--trace', '11');
    const again = await simulate('--trace', '11');
    expect(output).toContain('Both runs of this seed gave the same trace.');
    expect(again.output).toBe(output);
  });

  it.each(Object.keys(BREAKS))('detects that the guard "%s" is disabled', { timeout: 600_000 }, async (name) => {
    const { code, output } = await simulate('--seeds', '1000', '--break', name);
    expect(output).toMatch(/Seed \d+ without .*: FAILED/);
    expect(output).toContain('Both runs of this seed gave the same trace.');
    expect(code).toBe(1);
  });

  it('prints its usage, and rejects the name of an unknown guard', async () => {
    expect((await simulate('--help')).output).toContain('--first-seed');
    expect((await simulate('--break', 'nothing')).code).toBe(2);
  });
});
