import type { HeadMeta, RunContext, RuntimeMeta } from '../../checkpoints/engine.ts';
import {
  type HeadRecord,
  headRecord,
  readLiveHead,
  retryOnConflict,
  StaleVersionError,
} from '../../checkpoints/engine.ts';
import { isWaiting } from '../../core/status.ts';
import { ConditionFailedError, type Write } from '../../storage/ports.ts';
import { deliver, type Runtime } from '../runtime.ts';
import { readyWork } from './work.ts';

/** Whether somebody should run it now: nobody has it, and it waits for nothing. */
export const isReady = ({ status, work }: HeadMeta): boolean =>
  status === 'READY' || (status === 'ENDING' && !work?.lease && !work?.rests);

/** What an outside event brings: its own records, and changes of the head beside those that waking makes. */
export interface WakeEvent {
  readonly writes: readonly Write[];
  readonly work?: Partial<RuntimeMeta>;
}

/**
 * One outside event in one transaction: its own records, the head's `wake` plus one, and READY if the run was waiting.
 * `event` sees the head and the number of the event; it is asked again when the head moved meanwhile, throws to refuse,
 * and gives undefined when there is nothing to do. A condition of its own writes that fails is thrown as a
 * ConditionFailedError with the places in `writes`. `known` is a head that was read just now.
 */
export async function wakeRun(
  at: RunContext,
  event: (head: HeadRecord, number: number) => Promise<WakeEvent | undefined>,
  known?: HeadRecord,
): Promise<HeadMeta | undefined> {
  return retryOnConflict(async (tries) => {
    const head = known && tries === 1 ? known : await readLiveHead(at);
    const number = (head.meta.work?.wake ?? 0) + 1;
    const made = await event(head, number);
    if (!made) return undefined;
    const woken = headRecord(at.partition, wokenHead(at, head.meta, made.work));
    try {
      await at.records.commit([{ put: woken.stored, when: { revision: head.revision } }, ...made.writes]);
      return woken.meta;
    } catch (error) {
      if (!(error instanceof ConditionFailedError)) throw error;
      if (error.found.has(0)) throw new StaleVersionError(at.run, head.meta.version, undefined);
      throw new ConditionFailedError(new Map([...error.found].map(([place, found]) => [place - 1, found])), error);
    }
  });
}

/** A head after an outside event. */
export function wokenHead(at: RunContext, head: HeadMeta, change: Partial<RuntimeMeta> = {}): HeadMeta {
  const work = { ...head.work, wake: (head.work?.wake ?? 0) + 1, ...change };
  if (!isWaiting(head.status)) return { ...head, work };
  return {
    ...head,
    status: 'READY',
    touchedAt: Math.max(head.touchedAt, at.now()),
    work: readyWork(work, at.now()),
  };
}

/** Brings a run to a process if it is ready for one. */
export async function deliverIfReady(runtime: Runtime, at: RunContext): Promise<void> {
  if (!runtime.deliver) return;
  const { meta } = await readLiveHead(at).catch(() => ({ meta: undefined }));
  if (meta && isReady(meta)) await deliver(runtime, { tenant: at.tenant, run: at.run, agent: meta.agent });
}
