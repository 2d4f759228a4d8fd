import {
  type HeadMeta,
  type HeadRecord,
  headRecord,
  type RunContext,
  type RuntimeMeta,
  readLiveHead,
  retryOnConflict,
  StaleVersionError,
} from '../../checkpoints/engine.ts';
import { isWaiting } from '../../core/status.ts';
import { ConditionFailedError, type Write } from '../../storage/ports.ts';
import { deliver, type Runtime } from '../runtime.ts';
import { readyWork } from './work.ts';

/** Whether the run can be claimed now: it has no lease and waits for nothing. */
export const isReady = ({ status, work }: HeadMeta): boolean =>
  status === 'READY' || (status === 'ENDING' && !work?.lease && !work?.suspended);

/** The writes of an outside event, and its changes to the head in addition to those of waking the run. */
export interface WakeEvent {
  readonly writes: readonly Write[];
  readonly work?: Partial<RuntimeMeta>;
}

/**
 * Adds one outside event to a run in one transaction: the event's writes, the head's event count plus one, and status READY
 * if the run was waiting. `event` gets the head and the number of the event; it throws to reject the event, or returns
 * undefined when there is nothing to do, and is called again when the head has changed meanwhile. When a condition of
 * its own writes fails, a ConditionFailedError names their indexes in `writes`. `known` is a head that was just read.
 */
export async function wakeRun(
  at: RunContext,
  event: (head: HeadRecord, number: number) => Promise<WakeEvent | undefined>,
  known?: HeadRecord,
): Promise<HeadMeta | undefined> {
  return retryOnConflict(async (attempt) => {
    const head = known && attempt === 1 ? known : await readLiveHead(at);
    const number = (head.meta.work?.eventCount ?? 0) + 1;
    const wakeEvent = await event(head, number);
    if (!wakeEvent) return undefined;
    const woken = headRecord(at.partition, wokenHead(at, head.meta, wakeEvent.work));
    try {
      await at.records.commit([{ put: woken.stored, when: { revision: head.revision } }, ...wakeEvent.writes]);
      return woken.meta;
    } catch (error) {
      if (!(error instanceof ConditionFailedError)) throw error;
      if (error.found.has(0)) throw new StaleVersionError(at.run, head.meta.version, undefined);
      throw new ConditionFailedError(new Map([...error.found].map(([index, found]) => [index - 1, found])), error);
    }
  });
}

/** The head after an outside event: a waiting run becomes READY. */
export function wokenHead(at: RunContext, head: HeadMeta, change: Partial<RuntimeMeta> = {}): HeadMeta {
  const work = { ...head.work, eventCount: (head.work?.eventCount ?? 0) + 1, ...change };
  if (!isWaiting(head.status)) return { ...head, work };
  return {
    ...head,
    status: 'READY',
    updatedAt: Math.max(head.updatedAt, at.now()),
    work: readyWork(work, at.now()),
  };
}

/** Delivers a run if it is READY. Does nothing when the run is gone. */
export async function deliverIfReady(runtime: Runtime, at: RunContext): Promise<void> {
  if (!runtime.deliver) return;
  const { meta } = await readLiveHead(at).catch(() => ({ meta: undefined }));
  if (meta && isReady(meta)) await deliver(runtime, { tenant: at.tenant, run: at.run, agent: meta.agent });
}
