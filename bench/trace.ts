import { addCounts, type Counts, countsSince, NO_COUNTS } from './counts.ts';
import type { System } from './systems.ts';
import type { Wire } from './wire.ts';

/** What a work cost a system: the sums after each step, and the CPU of this process. */
export interface Trace {
  readonly system: string;
  /** `after[n]` is what was counted up to and with step n; `after[0]` is nothing. */
  readonly after: readonly Counts[];
  /** CPU in milliseconds up to and with step n, the client of the storage included. */
  readonly cpuMs: readonly number[];
  /** The step at which the system could go no further, and why. */
  readonly failure?: { readonly step: number; readonly why: string };
}

/** Does the steps one after the other and counts after each; what `pause` does in between is not counted. */
export async function trace(
  wire: Wire,
  system: System,
  steps: number,
  pause?: (step: number) => Promise<void>,
): Promise<Trace> {
  const after = [NO_COUNTS];
  const cpuMs = [0];
  for (let step = 1; step <= steps; step++) {
    const counted = await wire.counts();
    const doIt = system.step(step);
    try {
      cpuMs.push((cpuMs.at(-1) ?? 0) + (await measureCpuMs(doIt)));
    } catch (error) {
      return {
        system: system.name,
        after,
        cpuMs,
        failure: { step, why: error instanceof Error ? error.message : String(error) },
      };
    }
    after.push(addCounts(after.at(-1) ?? NO_COUNTS, countsSince(counted, await wire.counts())));
    await pause?.(step);
  }
  return { system: system.name, after, cpuMs };
}

/** The CPU in milliseconds that this process spent meanwhile. */
export async function measureCpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** CPU in milliseconds up to and with each step, without any wire. */
export async function traceCpu(system: System, steps: number): Promise<readonly number[]> {
  const cpuMs = [0];
  for (let step = 1; step <= steps; step++) cpuMs.push((cpuMs.at(-1) ?? 0) + (await measureCpuMs(system.step(step))));
  return cpuMs;
}

/** What was counted from after one step to after another. */
export function countsBetween({ after }: Trace, from: number, to: number): Counts {
  const [start, end] = [after[from], after[to]];
  if (!start || !end) throw new RangeError(`Steps ${from} to ${to} were not traced.`);
  return countsSince(start, end);
}

export const lastStep = ({ after }: Trace): number => after.length - 1;
