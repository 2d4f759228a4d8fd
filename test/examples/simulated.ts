import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, vi } from 'vitest';
import type { Agent } from 'waitstate';
import { latency } from '../../examples/simulated/latency.ts';
import type { Ledger } from '../../examples/simulated/ledger.ts';

/** Gives each test its own simulated services, without latency and without a model. */
export function freshServices(): void {
  let folder = '';
  beforeEach(() => {
    latency.milliseconds = 0;
    folder = mkdtempSync(join(tmpdir(), 'waitstate-examples-'));
    vi.stubEnv('WAITSTATE_FOLDER', folder);
    vi.stubEnv('WAITSTATE_MODEL', undefined);
    vi.stubEnv('EXAMPLES_TABLE', undefined);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  });
}

/** The example input of an agent. */
export const exampleOf = <Input, State, Result>({ example }: Agent<Input, State, Result>): Input => example as Input;

/** All payments of a ledger. */
export const paidIn = async (ledger: Ledger): Promise<readonly (readonly [what: string, amount: number])[]> =>
  (await ledger.entries()).map(({ what, amount }) => [what, amount]);

/** The sum of all payments of a ledger. */
export const totalOf = async (ledger: Ledger): Promise<number> =>
  (await ledger.entries()).reduce((sum, { amount }) => sum + amount, 0);
