import type { HeadMeta, RuntimeMeta } from '../../checkpoints/engine.ts';

/** The work of a run that was not started as one. */
export const NO_WORK: RuntimeMeta = { wake: 0 };

/** How long a run that is ready waits for its delivery before the sweeper delivers it. */
const DELIVERY_MS = 60_000;

/** How long to wait before a run is delivered once more: one minute at first, an hour at most. */
export const redeliveryDelayMs = (deliveries: number): number =>
  Math.min(3_600_000, DELIVERY_MS * 2 ** Math.min(Math.max(deliveries - 1, 0), 10));

/** Nobody has the run, and nothing keeps it. */
const free = (work: RuntimeMeta): RuntimeMeta => ({
  ...work,
  lease: undefined,
  claims: 0,
  parked: undefined,
  rests: undefined,
});

/** Somebody should take the run; when nobody does, it is due. */
export const readyWork = (work: RuntimeMeta, now: number): RuntimeMeta => ({
  ...free(work),
  dueAt: now + DELIVERY_MS,
  deliveries: 0,
});

/** Nobody should take the run before a moment, or before an outside event. */
export const suspendedWork = (work: RuntimeMeta, dueAt: number): RuntimeMeta => ({
  ...free(work),
  dueAt: dueAt === Infinity ? undefined : dueAt,
});

/** The run was changed from outside and goes on from there, with time anew and all that was asked forgotten. */
export const restartedWork = (work: RuntimeMeta, now: number): RuntimeMeta => ({
  ...readyWork(work, now),
  ...{ wake: work.wake + 1, edited: true, rewinds: (work.rewinds ?? 0) + 1, approvals: undefined, ending: undefined },
  ...(work.timeoutMs !== undefined && { deadline: now + work.timeoutMs }),
});

/** The run has ended: nobody has it, and nobody must look at it. */
export const endedWork = ({ claims: _, ...work }: RuntimeMeta): RuntimeMeta => ({
  ...work,
  ...{ lease: undefined, dueAt: undefined, approvals: undefined, parked: undefined, rests: undefined },
});

/** When the run takes longer than it may; one that is ending has the time that it takes. */
export const timesOutAt = ({ status, work }: HeadMeta): number =>
  status === 'ENDING' ? Infinity : (work?.deadline ?? Infinity);

/** Whether an agent may have the run at this moment. */
export const isLeased = (work: RuntimeMeta | undefined, now: number): boolean => (work?.lease?.until ?? 0) > now;

/** Whether two lists of open approvals are the same. */
export const hasSameApprovals = (a: RuntimeMeta | undefined, b: RuntimeMeta | undefined): boolean =>
  JSON.stringify(a?.approvals ?? []) === JSON.stringify(b?.approvals ?? []);
