import type { HeadMeta, RuntimeMeta } from '../../checkpoints/engine.ts';
import { joinNames } from '../journal/join-names.ts';

/** The runtime fields of a run whose checkpoints were saved without the runtime. */
export const NO_WORK: RuntimeMeta = { eventCount: 0 };

/** How long a READY run can stay unclaimed before the sweeper delivers it. */
const DELIVERY_TIMEOUT_MS = 60_000;

/** The delay before a run is delivered again: one minute after the first delivery, doubling up to an hour. */
export const redeliveryDelayMs = (deliveries: number): number =>
  Math.min(3_600_000, DELIVERY_TIMEOUT_MS * 2 ** Math.min(Math.max(deliveries - 1, 0), 10));

/** The runtime fields without lease, parking or suspension. */
const releasedWork = (work: RuntimeMeta): RuntimeMeta => ({
  ...work,
  lease: undefined,
  claims: 0,
  parkedReason: undefined,
  suspended: undefined,
  waits: undefined,
});

/** The runtime fields of a READY run; it becomes due when it is not claimed in time. */
export const readyWork = (work: RuntimeMeta, now: number): RuntimeMeta => ({
  ...releasedWork(work),
  dueAt: now + DELIVERY_TIMEOUT_MS,
  deliveries: 0,
});

/**
 * The head of a run whose lease was given up or has ended, for the next worker: READY, or ENDING without a lease. The
 * claims stay counted, so that a run that crashes every worker fails.
 */
export const toReadyHead = (now: number, head: HeadMeta & { readonly work: RuntimeMeta }) => ({
  ...head,
  status: head.status === 'ENDING' ? head.status : ('READY' as const),
  updatedAt: Math.max(head.updatedAt, now),
  work: { ...readyWork(head.work, now), claims: head.work.claims },
});

/** The runtime fields of a suspended run; it resumes at `dueAt` or on an outside event. `waits` names what it waits for. */
export const suspendedWork = (work: RuntimeMeta, dueAt: number, waits: readonly string[]): RuntimeMeta => ({
  ...releasedWork(work),
  dueAt: dueAt === Infinity ? undefined : dueAt,
  waits: joinNames(waits, MAX_WAITS_CHARACTERS),
});

// The head has what lists show, and costs write units by the kilobyte.
const MAX_WAITS_CHARACTERS = 100;

/** The runtime fields of a retried or rewound run: READY, with a new deadline and no pending approvals. */
export const restartedWork = (work: RuntimeMeta, now: number): RuntimeMeta => ({
  ...readyWork(work, now),
  eventCount: work.eventCount + 1,
  edited: true,
  rewinds: (work.rewinds ?? 0) + 1,
  approvals: undefined,
  ending: undefined,
  decision: undefined,
  outcome: undefined,
  ...(work.timeoutMs !== undefined && { deadline: now + work.timeoutMs }),
});

/** The runtime fields of a run that has ended: no lease, no due time, no pending approvals. */
export const endedWork = ({ claims: _claims, ...work }: RuntimeMeta): RuntimeMeta => ({
  ...work,
  lease: undefined,
  dueAt: undefined,
  approvals: undefined,
  parkedReason: undefined,
  suspended: undefined,
  waits: undefined,
});

/** When the run exceeds its timeout; a run that is ENDING never does. */
export const timesOutAt = ({ status, work }: HeadMeta): number =>
  status === 'ENDING' ? Infinity : (work?.deadline ?? Infinity);

/** Whether an invocation holds a lease on the run. */
export const isLeased = (work: RuntimeMeta | undefined, now: number): boolean => (work?.lease?.until ?? 0) > now;

/** Whether two versions of a run have the same pending approvals. */
export const hasSameApprovals = (a: RuntimeMeta | undefined, b: RuntimeMeta | undefined): boolean =>
  JSON.stringify(a?.approvals ?? []) === JSON.stringify(b?.approvals ?? []);
