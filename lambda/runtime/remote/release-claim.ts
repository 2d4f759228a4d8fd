import { headRecord, type RunContext, type RuntimeMeta, readLiveHead, tryCommit } from '../../checkpoints/engine.ts';
import { redeliveryDelayMs } from '../wake/work.ts';

/**
 * Releases a claim whose function could not be invoked, so that it does not count as an attempt of the run. The lease
 * stays in the head but is expired: this leaves the next delivery to the sweeper, because the stream would retry
 * immediately and without end.
 */
export async function releaseClaim(at: RunContext, by: string, workBefore: RuntimeMeta | undefined): Promise<void> {
  const { meta, revision } = await readLiveHead(at);
  const { work } = meta;
  if (work?.lease?.by !== by) return;
  const nextDelivery = at.now() + redeliveryDelayMs(1);
  const released = {
    ...work,
    lease: { by, until: at.now() },
    claims: Math.max(0, (work.claims ?? 1) - 1),
    deliveries: workBefore?.deliveries ?? 0,
    dueAt: (workBefore?.dueAt ?? 0) > at.now() ? workBefore?.dueAt : nextDelivery,
  };
  const put = headRecord(at.partition, { ...meta, work: released }).stored;
  await tryCommit(at.records, [{ put, when: { revision } }]);
}
