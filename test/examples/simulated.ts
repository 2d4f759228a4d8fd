import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, vi } from 'vitest';
import { latency } from '../../examples/simulated/latency.ts';
import type { Ledger } from '../../examples/simulated/ledger.ts';

/** Lets each test have simulated services of its own, which take no time and know of no model. */
export function freshServices(): void {
  let folder = '';
  beforeEach(() => {
    latency.milliseconds = 0;
    folder = mkdtempSync(join(tmpdir(), 'waitstate-examples-'));
    vi.stubEnv('WAITSTATE_FOLDER', folder);
    vi.stubEnv('WAITSTATE_MODEL', undefined);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  });
}

/** What was paid, line by line. */
export const paidIn = (books: Ledger): readonly (readonly [what: string, amount: number])[] =>
  books.entries().map(({ what, amount }) => [what, amount]);

/** What was paid altogether. */
export const totalOf = (books: Ledger): number => books.entries().reduce((sum, { amount }) => sum + amount, 0);
