import type { RuntimeMeta } from '../../checkpoints/engine.ts';
import type { Status } from '../../core/status.ts';
import { readyWork, suspendedWork } from '../wake/work.ts';

/** How a run lies while nothing runs it. */
export interface Suspension {
  readonly status: Status;
  /** That it is for another invocation at once. */
  readonly continues?: true;
  readonly work: (work: RuntimeMeta) => RuntimeMeta;
}

/** How a run lies that goes on in another invocation at once; one that got nothing done counts as a failed attempt. */
export function yieldToNextInvocation(
  ending: boolean,
  now: () => number,
  {
    claims,
    claimed,
    version,
  }: { readonly claims: number | undefined; readonly claimed: number; readonly version: number },
): Suspension {
  const attempt = version > claimed ? { claims: 0 } : { claims, claimed: version + 1 };
  return {
    status: ending ? 'ENDING' : 'READY',
    continues: true,
    work: (work) => ({ ...readyWork(work, now()), ...attempt }),
  };
}

/** How a run lies that waits for something until a moment. */
export function suspendUntil(dueAt: number, waitsFor: readonly Status[], ending: boolean): Suspension {
  const status = ending ? 'ENDING' : (RANK.find((each) => waitsFor.includes(each)) ?? 'SLEEPING');
  const rests = ending || undefined;
  return { status, work: (work) => ({ ...suspendedWork(work, dueAt), rests }) };
}

// What a run is said to wait for when it waits for several things.
const RANK = ['WAITING_FOR_APPROVAL', 'WAITING_FOR_SIGNAL', 'SLEEPING'] as const satisfies readonly Status[];
