import { headRecord, type RunContext, readHead, tryCommit } from '../../checkpoints/engine.ts';
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
      await renewOnce(at, by, leaseMs).catch(() => {});
    }
  };
  renewUntilStopped().catch(() => {});
  return () => stopped.abort();
}

async function renewOnce(at: RunContext, by: string, leaseMs: number): Promise<void> {
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  const head = stored && readHead(stored);
  const { work } = head?.meta ?? {};
  if (!head || work?.lease?.by !== by) return;
  const until = at.now() + leaseMs;
  const dueAt = Math.min(until, timesOutAt(head.meta));
  const put = headRecord(at.partition, { ...head.meta, work: { ...work, lease: { by, until }, dueAt } }).stored;
  await tryCommit(at.records, [{ put, when: { revision: head.revision } }]);
}
