import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { beforeAll, describe, expect, it } from 'vitest';
import { repeats } from '../deep.ts';
import { BREAKS } from './breaks.ts';
import type { Detected } from './child-breaks.ts';

/** Runs a program with plain Node, because the test's module loader would change the order of events. */
function run(program: string, ...args: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    const options = { maxBuffer: 2 ** 28, env: { ...process.env, NODE_OPTIONS: '' } };
    const path = new URL(program, import.meta.url).pathname;
    execFile(process.execPath, [path, ...args], options, (error, stdout, stderr) =>
      // A slow search also prints its progress.
      resolve({ code: Number(error?.code ?? 0), output: (stdout + stderr).replace(/^\d+ of \d+ seeds, .*\n/gm, '') }),
    );
  });
}

const simulate = (...args: readonly string[]) => run('./main.ts', ...args);

describe('the simulation of durable runs', () => {
  const seeds = repeats(200, 3000);
  it(`finds no problems with ${seeds.toLocaleString('en')} seeds`, { timeout: 600_000 }, async () => {
    // Other tests run at the same time, unless this is the deep suite.
    const jobs = repeats(1, availableParallelism());
    const { code, output } = await simulate('--seeds', String(seeds), '--jobs', String(jobs));
    expect(output).toContain('no problems found');
    expect(code).toBe(0);
  });

  it('gives the same trace for the same seed', async () => {
    const { output } = await simulate('--trace', '11');
    const again = await simulate('--trace', '11');
    expect(output).toContain('Both runs of this seed gave the same trace.');
    expect(again.output).toBe(output);
  });

  it('prints the trace of a seed that fails, the same with any number of jobs, and exits with 1', async () => {
    const [one, three] = await Promise.all(
      ['1', '3'].map((jobs) => simulate('--seeds', '200', '--break', 'absence', '--jobs', jobs)),
    );
    expect(one?.output).toMatch(/Seed \d+ without absence: FAILED/);
    expect(one?.output).toContain('Both runs of this seed gave the same trace.');
    expect(one?.code).toBe(1);
    expect(three).toEqual(one);
  });

  it('prints its usage, and rejects the name of an unknown guard and a number of jobs below 1', async () => {
    expect((await simulate('--help')).output).toContain('--first-seed');
    expect((await simulate('--break', 'nothing')).code).toBe(2);
    expect((await simulate('--jobs', '0')).code).toBe(2);
  });
});

describe('the checks of the simulation', () => {
  let detected: ReadonlyMap<string, Detected>;
  beforeAll(async () => {
    const { output } = await run('./child-breaks.ts');
    const lines = output.trimEnd().split('\n');
    detected = new Map(lines.map((line): Detected => JSON.parse(line)).map((each) => [each.name, each]));
  }, 600_000);

  it.each(Object.keys(BREAKS))('detect that the guard "%s" is disabled', (name) => {
    expect(detected.get(name)).toEqual({ name, seed: expect.any(Number), isSameTrace: true });
  });
});
