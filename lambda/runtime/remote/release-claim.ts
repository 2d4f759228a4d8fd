import { type HeadMeta, type RunContext, type RuntimeMeta, readLiveHead } from '../../checkpoints/engine.ts';
import { WaitstateError } from '../../core/errors.ts';
import { changeLeasedHead, renewLease } from '../invocation/lease.ts';
import { redeliveryDelayMs, toReadyHead } from '../wake/work.ts';

/**
 * Releases a claim whose function could not be invoked, so that it does not count as an attempt of the run. The lease
 * stays in the head but is expired: this leaves the next delivery to the sweeper, because the stream would retry
 * immediately and without end.
 */
export async function releaseClaim(at: RunContext, by: string, workBefore: RuntimeMeta | undefined): Promise<void> {
  const nextDelivery = at.now() + redeliveryDelayMs(1);
  await changeLeasedHead(at, by, ({ work, ...head }) => ({
    ...head,
    work: {
      ...work,
      lease: { by, until: at.now() },
      claims: withoutLast(work.claims),
      deliveries: workBefore?.deliveries ?? 0,
      dueAt: (workBefore?.dueAt ?? 0) > at.now() ? workBefore?.dueAt : nextDelivery,
    },
  }));
}

/** How a worker gives a run back. */
export interface ReleaseOptions {
  /** Whether it executed anything; if not, the claim does not count as an attempt of the run. */
  readonly attempted: boolean;
  /** Parks the run, because no worker can execute it for now. The sweeper makes it ready again, each time later. */
  readonly park?: { readonly reason: string; readonly deliveries: number };
}

/** Gives up a lease: the run is READY at once. Throws LEASE_LOST if the lease has ended or was taken over. */
export async function releaseLease(at: RunContext, by: string, options: ReleaseOptions): Promise<HeadMeta> {
  const { attempted, park } = options;
  const released = await changeLeasedHead(at, by, (head) => {
    const ready = toReadyHead(at.now(), head);
    const claims = attempted ? head.work.claims : withoutLast(head.work.claims);
    const parked = park && {
      parkedReason: park.reason.slice(0, 500),
      deliveries: park.deliveries,
      dueAt: at.now() + redeliveryDelayMs(park.deliveries),
    };
    return { ...ready, work: { ...ready.work, claims, ...parked } };
  });
  return released ?? throwLeaseLost(at);
}

/** Extends a lease from now on. Throws LEASE_LOST if the lease has ended or was taken over. */
export const extendLease = async (at: RunContext, by: string, leaseMs: number): Promise<HeadMeta> =>
  (await renewLease(at, by, leaseMs)) ?? throwLeaseLost(at);

async function throwLeaseLost(at: RunContext): Promise<never> {
  // If the run does not exist, this throws the more precise error.
  await readLiveHead(at);
  throw new WaitstateError(
    'LEASE_LOST',
    `This lease on run "${at.run}" has ended: the run was suspended or has ended, or another worker took it over. Stop working on it.`,
    { scope: 'invocation' },
  );
}

/** The claims in a row without progress, without the last one. */
const withoutLast = (claims = 1): number => Math.max(0, claims - 1);
