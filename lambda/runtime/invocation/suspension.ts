import type { RuntimeMeta } from '../../checkpoints/engine.ts';
import type { Status } from '../../core/status.ts';
import { joinNames } from '../journal/join-names.ts';
import { readyWork, suspendedWork } from '../wake/work.ts';

/** How a run is stored while nothing runs it. */
export interface Suspension {
  readonly status: Status;
  /** Whether the run continues in another invocation at once. */
  readonly continues?: true;
  /** What the run waits for. */
  readonly waits?: string;
  readonly work: (work: RuntimeMeta) => RuntimeMeta;
}

/** Suspends a run until something it waits for happens, or until a time. */
export function suspendUntil(
  dueAt: number,
  pending: { readonly statuses: readonly Status[]; readonly names: readonly string[] },
  isEnding: boolean,
): Suspension {
  const status = isEnding ? 'ENDING' : (STATUS_PRIORITY.find((each) => pending.statuses.includes(each)) ?? 'SLEEPING');
  const suspended = isEnding || undefined;
  return {
    status,
    waits: joinNames(pending.names),
    work: (work) => ({ ...suspendedWork(work, dueAt, pending.names), suspended }),
  };
}

// The status of a run that waits for several things is the first of these.
const STATUS_PRIORITY = ['WAITING_FOR_APPROVAL', 'WAITING_FOR_SIGNAL', 'SLEEPING'] as const satisfies readonly Status[];

/** Hands a run to the next invocation. An invocation that wrote nothing counts as a failed attempt. */
export function yieldToNextInvocation(
  isEnding: boolean,
  now: () => number,
  attempt: { readonly claims: number | undefined; readonly claimedVersion: number; readonly version: number },
): Suspension {
  const { claims, claimedVersion, version } = attempt;
  const progress = version > claimedVersion ? { claims: 0 } : { claims, claimedVersion: version + 1 };
  return {
    status: isEnding ? 'ENDING' : 'READY',
    continues: true,
    // Otherwise the claim that follows would look like one after a crash.
    ...(isEnding && { waits: 'next invocation' }),
    work: (work) => ({ ...readyWork(work, now()), ...progress }),
  };
}
