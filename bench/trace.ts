import { addCounts, type Counts, countsSince, NO_COUNTS } from './counts.ts';
import type { System } from './systems.ts';
import type { Wire } from './wire.ts';

/** The cost of a workload on a system: cumulative counts and CPU time after each step. */
export interface Trace {
  readonly system: string;
  /** `after[n]` has the counts of steps 1 to n; `after[0]` is zero. */
  readonly after: readonly Counts[];
  /** CPU milliseconds of steps 1 to n, the storage client included. */
  readonly cpuMs: readonly number[];
  /** The step at which the system failed, and why. */
  readonly failure?: { readonly step: number; readonly why: string };
}

/** Runs the steps one after the other and counts after each. Requests of `afterStep` are not counted. */
export async function trace(
  wire: Wire,
  system: System,
  steps: number,
  afterStep?: (step: number) => Promise<void>,
): Promise<Trace> {
  const after = [NO_COUNTS];
  const cpuMs = [0];
  for (let step = 1; step <= steps; step++) {
    const before = await wire.counts();
    const run = system.step(step);
    try {
      cpuMs.push((cpuMs.at(-1) ?? 0) + (await measureCpuMs(run)));
    } catch (error) {
      return {
        system: system.name,
        after,
        cpuMs,
        failure: { step, why: error instanceof Error ? error.message : String(error) },
      };
    }
    after.push(addCounts(after.at(-1) ?? NO_COUNTS, countsSince(before, await wire.counts())));
    await afterStep?.(step);
  }
  return { system: system.name, after, cpuMs };
}

/** The CPU milliseconds that this process spends on a piece of work. */
export async function measureCpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** CPU milliseconds of steps 1 to n, for a system that is not on the wire. */
export async function traceCpu(system: System, steps: number): Promise<readonly number[]> {
  const cpuMs = [0];
  for (let step = 1; step <= steps; step++) cpuMs.push((cpuMs.at(-1) ?? 0) + (await measureCpuMs(system.step(step))));
  return cpuMs;
}

/** The counts of steps `from` + 1 to `to`. */
export function countsBetween({ after }: Trace, from: number, to: number): Counts {
  const [start, end] = [after[from], after[to]];
  if (!start || !end)
    throw new RangeError(`Expected steps ${from} to ${to} in the trace; it has ${after.length - 1} steps.`);
  return countsSince(start, end);
}

export const lastStep = ({ after }: Trace): number => after.length - 1;
