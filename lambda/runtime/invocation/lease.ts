import type { RunContext } from '../../checkpoints/engine.ts';
import { headRecord, readHead, tryCommit } from '../../checkpoints/engine.ts';
import { HEAD_KEY } from '../../storage/keys.ts';
import type { Clock } from '../clock.ts';
import { timesOutAt } from '../wake/work.ts';
import type { Claimant } from './claim.ts';

/**
 * Renews a short lease for as long as its process lives; what it gives ends that. On Lambda a lease lasts as long as the
 * function and needs none of it.
 */
export function startLeaseRenewal(at: RunContext, clock: Clock, { by, leaseMs }: Claimant): () => void {
  const over = new AbortController();
  if (leaseMs === undefined) return () => {};
  const keep = async () => {
    for (;;) {
      await clock.sleep(leaseMs / 3, over.signal, true);
      // Whatever goes wrong shows in the next write of the run, or in the next try.
      await renew(at, by, leaseMs).catch(() => {});
    }
  };
  keep().catch(() => {});
  return () => over.abort();
}

async function renew(at: RunContext, by: string, leaseMs: number): Promise<void> {
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  const head = stored && readHead(stored);
  const { work } = head?.meta ?? {};
  if (!head || work?.lease?.by !== by) return;
  const until = at.now() + leaseMs;
  const dueAt = Math.min(until, timesOutAt(head.meta));
  const put = headRecord(at.partition, { ...head.meta, work: { ...work, lease: { by, until }, dueAt } }).stored;
  await tryCommit(at.records, [{ put, when: { revision: head.revision } }]);
}
