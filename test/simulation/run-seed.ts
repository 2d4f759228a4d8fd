import { describe } from './deliveries.ts';
import { type Simulated, simulate } from './simulate.ts';
import type { WorldOptions } from './world.ts';

let unhandled: unknown[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(reason));

/** Runs a seed; what it throws, and what nobody caught, is a finding too. */
export async function runSeed(seed: number, options: WorldOptions): Promise<Simulated> {
  unhandled = [];
  const done = await simulate(seed, options).catch((error: unknown) => ({
    ...{ seed, trace: [], happened: 0 },
    findings: [`the simulation threw: ${describe(error)}`],
  }));
  const lost = unhandled.map((reason) => `nobody caught: ${describe(reason)}`);
  return { ...done, findings: [...done.findings, ...lost] };
}
