import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Flight, Trip } from '../../cli/tour/trip.ts';
import { checkpointStore } from '../../lambda/embedded.ts';

const program = fileURLToPath(new URL('../../cli/tour.ts', import.meta.url));
const { FORCE_COLOR: _, NO_COLOR: __, ...environment } = process.env;

interface TourResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const tour = (cwd: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<TourResult> =>
  new Promise((resolve) => {
    const options = { cwd, env: { ...environment, ...env } };
    execFile(process.execPath, [program, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });

describe('the tour', () => {
  const folder = mkdtempSync(join(tmpdir(), 'waitstate-tour-'));
  let result: TourResult;
  beforeAll(async () => {
    result = await tour(folder);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('succeeds without output on standard error', () => {
    expect(result).toMatchObject({ code: 0, stderr: '' });
  });

  it('kills a process, and another one resumes without paying again', () => {
    const killed = /pid (\d+) {2}killed \(SIGKILL\)/.exec(result.stdout)?.[1];
    const resumed = /pid (\d+) {2}resumes from version 2/.exec(result.stdout)?.[1];
    expect(killed).toBeDefined();
    expect(resumed).toBeDefined();
    expect(resumed).not.toBe(killed);
    expect(result.stdout).toContain(`pid ${resumed}  reuses the result of call-1, does not search again`);
    expect(result.stdout).toContain('searches paid: 1');
  });

  it('lets one of two writers win and reports the conflict to the other', () => {
    expect(result.stdout).toMatch(/(phone|laptop) +wrote version 4/);
    expect(result.stdout).toMatch(/(phone|laptop) +StaleVersionError/);
  });

  it('leaves two intact runs that chose different flights', async () => {
    const [own = ''] = readdirSync(join(folder, '.waitstate'));
    const store = checkpointStore<Trip>({ folder: join(folder, '.waitstate', own) });
    const [trip, cheap] = await Promise.all([store.load('trip'), store.load('trip-cheap')]);
    expect(trip).toMatchObject({ version: 6, status: 'SUCCEEDED', state: { budget: 900, flight: { id: 'HP 204' } } });
    expect(cheap).toMatchObject({ version: 2, state: { budget: 300, flight: { id: 'HP 118' } } });
    expect(cheap.toolResults['call-1'] as Flight[]).toHaveLength(3);
    expect(await trip.state.ticket?.text()).toMatch(/^Ticket for HP 204, (window|aisle) seat/);
    const steps: unknown[] = [];
    for await (const { step } of store.history('trip')) steps.push(step);
    expect(steps).toEqual(['read request', 'search flights', 'choose flight', 'approve', 'pay', 'book flight']);
    expect(await store.verify('trip')).toMatchObject({ ok: true, checkpoints: 6, payloads: 1 });
    expect(result.stdout.match(/intact: \d checkpoints/g)).toHaveLength(2);
    await store.close();
  });

  it('fits 80 columns and prints no colors without a terminal', () => {
    expect(result.stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(result.stdout).not.toContain('\u001b');
  });

  it('can be run again in the same directory', async () => {
    expect(await tour(folder)).toMatchObject({ code: 0, stderr: '' });
  });

  it('keeps the files of a folder that is not empty', async () => {
    const given = join(folder, 'given');
    expect(await tour(folder, ['--folder', given])).toMatchObject({ code: 0 });
    writeFileSync(join(given, 'mine.txt'), 'keep this');
    const refused = await tour(folder, ['--folder', given]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('is not empty');
    expect(existsSync(join(given, 'mine.txt'))).toBe(true);
  });

  it('prints its help, and names an unknown option', async () => {
    expect(await tour(folder, ['--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Usage: npm run tour'),
    });
    const unknown = await tour(folder, ['--fast']);
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("Unknown option '--fast'") });
  });
});
