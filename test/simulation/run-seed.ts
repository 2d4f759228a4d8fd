import { describeError } from './deliveries.ts';
import { type Simulated, simulate } from './simulate.ts';
import type { WorldOptions } from './world.ts';

let unhandled: unknown[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(reason));

/** Runs a seed; exceptions and unhandled rejections are findings too. */
export async function runSeed(seed: number, options: WorldOptions): Promise<Simulated> {
  unhandled = [];
  const simulated = await simulate(seed, options).catch((error: unknown) => ({
    seed,
    trace: [],
    eventCount: 0,
    findings: [`the simulation threw: ${describeError(error)}`],
  }));
  const rejections = unhandled.map((reason) => `unhandled rejection: ${describeError(reason)}`);
  return { ...simulated, findings: [...simulated.findings, ...rejections] };
}
