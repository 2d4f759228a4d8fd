import type { RunContext } from '../../checkpoints/engine.ts';
import { isWaitstateError } from '../../core/errors.ts';
import { MAX_ID_BYTES } from '../../core/ids.ts';
import { cancelRun } from '../control/run-control.ts';
import { startRun } from '../control/start-run.ts';
import { hasSettled } from '../journal/entries.ts';
import { shortHash } from '../journal/identity.ts';
import type { Runtime } from '../runtime.ts';
import type { RemoteSave } from './save.ts';
import {
  CALL_ID_PREFIX,
  CHILD_CHECK_MS,
  type JournalEntries,
  nextOrder,
  type SuspendedRun,
  saveAndSuspend,
  unusedId,
} from './wait.ts';

/** A child run to start. */
export interface RemoteCall {
  readonly agent: string;
  /** The name of the call in the run. @default the name of the agent */
  readonly name?: string | undefined;
  readonly input: unknown;
  /** The id of the child run. @default derived from the run and the name of the call, so that a retry finds it */
  readonly run?: string | undefined;
}

/** Saves, starts a child run and suspends the run until the child ends. A child that exists is not started again. */
export function callRemotely(
  runtime: Runtime,
  at: RunContext,
  save: RemoteSave,
  { agent, name = agent, input, run }: RemoteCall,
): Promise<SuspendedRun> {
  return saveAndSuspend(at, save, 'WAITING_FOR_SIGNAL', async (loaded, journal) => {
    const id = unusedId(journal, CALL_ID_PREFIX + name);
    const { owner, requestedBy, work } = loaded.head.meta;
    const child = run ?? childId(at.run, id.slice(CALL_ID_PREFIX.length), work?.epoch);
    const { isNew } = await startRun(runtime, {
      agent,
      input,
      id: child,
      parent: { run: at.run, version: loaded.record.version },
      owner,
      requestedBy,
      parentWaits: true,
      unchecked: true,
    });
    const existed = !isNew && { existed: true as const };
    const checkAt = at.now() + CHILD_CHECK_MS;
    return { id, entry: { kind: 'call', child, ...existed, checkAt, order: nextOrder(journal) } };
  });
}

function childId(run: string, call: string, epoch: number | undefined): string {
  const readable = `${run}.${call}${epoch ? `.${epoch}` : ''}`;
  return encodeURIComponent(readable).length <= MAX_ID_BYTES ? readable : `child.${shortHash(readable)}`;
}

/** Cancels the child runs that a run still waits for, because it ends without their results. */
export async function cancelChildren(runtime: Runtime, run: string, journal: JournalEntries): Promise<void> {
  for (const entry of journal.values()) {
    if (entry.kind !== 'call' || hasSettled(entry)) continue;
    await cancelRun(runtime, entry.child, `The parent run "${run}" is ending.`).catch((error) => {
      if (!isWaitstateError(error)) throw error;
      runtime.log('warn', 'A child run could not be cancelled.', { run: entry.child, error: String(error) });
    });
  }
}
