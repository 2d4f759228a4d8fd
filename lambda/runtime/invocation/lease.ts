import {
  type HeadMeta,
  headRecord,
  type RunContext,
  type RuntimeMeta,
  readHead,
  StaleVersionError,
  tryCommit,
} from '../../checkpoints/engine.ts';
import { toPositiveMs } from '../../core/duration.ts';
import { HEAD_KEY } from '../../storage/keys.ts';
import type { Clock } from '../clock.ts';
import { timesOutAt } from '../wake/work.ts';
import type { Claimant } from './claim.ts';

/**
 * Renews a short lease for as long as the process lives; call the returned function to stop. On Lambda a lease lasts as
 * long as the function and is never renewed.
 */
export function startLeaseRenewal(at: RunContext, clock: Clock, { by, lease }: Claimant): () => void {
  const leaseMs = toPositiveMs('`lease`', lease);
  const stopped = new AbortController();
  if (leaseMs === undefined) return () => {};
  const renewUntilStopped = async () => {
    for (;;) {
      await clock.sleep(leaseMs / 3, stopped.signal, true);
      // A failed renewal is tried again; if the lease was lost, the next write of the run fails.
      await renewLease(at, by, leaseMs).catch(() => {});
    }
  };
  renewUntilStopped().catch(() => {});
  return () => stopped.abort();
}

/** Extends the lease with this id from now on. Returns the new head, or undefined if another invocation has the run. */
export async function renewLease(at: RunContext, by: string, leaseMs: number): Promise<HeadMeta | undefined> {
  const until = at.now() + leaseMs;
  return changeLeasedHead(at, by, (head) => ({
    ...head,
    work: { ...head.work, lease: { by, until }, dueAt: Math.min(until, timesOutAt(head)) },
  }));
}

/** A head with a lease. */
type LeasedHead = HeadMeta & { readonly work: RuntimeMeta };

const MAX_ATTEMPTS = 10;

/** Changes the head of a run as long as the lease has this id; returns the new head, or undefined if it has another. */
export async function changeLeasedHead(
  at: RunContext,
  by: string,
  change: (head: LeasedHead) => HeadMeta,
): Promise<HeadMeta | undefined> {
  for (let attempt = 1; ; attempt++) {
    const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
    if (!stored) return undefined;
    const { meta, revision } = readHead(stored);
    if (meta.work?.lease?.by !== by) return undefined;
    const next = headRecord(at.partition, change({ ...meta, work: meta.work }));
    if (await tryCommit(at.records, [{ put: next.stored, when: { revision } }])) return next.meta;
    if (attempt >= MAX_ATTEMPTS) throw new StaleVersionError(at.run, meta.version, undefined);
  }
}
