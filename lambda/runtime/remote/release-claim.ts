import type { RunContext, RuntimeMeta } from '../../checkpoints/engine.ts';
import { headRecord, readLiveHead, tryCommit } from '../../checkpoints/engine.ts';
import { redeliveryDelayMs } from '../wake/work.ts';

/**
 * Gives a claim back whose function could not be invoked, so that it does not count as an attempt of the run. The lease
 * stays, ended: it says that the sweeper delivers the run, and not the stream, which would try again at once and for ever.
 */
export async function releaseClaim(at: RunContext, by: string, before: RuntimeMeta | undefined): Promise<void> {
  const { meta, revision } = await readLiveHead(at);
  const { work } = meta;
  if (work?.lease?.by !== by) return;
  const later = at.now() + redeliveryDelayMs(1);
  const returned = {
    ...work,
    lease: { by, until: at.now() },
    claims: Math.max(0, (work.claims ?? 1) - 1),
    deliveries: before?.deliveries ?? 0,
    dueAt: (before?.dueAt ?? 0) > at.now() ? before?.dueAt : later,
  };
  const put = headRecord(at.partition, { ...meta, work: returned }).stored;
  await tryCommit(at.records, [{ put, when: { revision } }]);
}
