import type { LoadedCheckpoint, RunContext } from '../../checkpoints/engine.ts';
import { withdrawWritesById } from '../control/end-run.ts';
import type { Entry } from '../journal/entries.ts';
import type { Runtime } from '../runtime.ts';
import { wakeParentWrites } from '../wake/events.ts';
import { endedWork, readyWork } from '../wake/work.ts';
import { cancelChildren } from './call.ts';
import { checkIsRunning, type RemoteSave, saveRemotely } from './save.ts';
import { readJournal } from './wait.ts';

/** How an agent in another process or language reports the end of its run. */
export type RemoteEnd =
  | { readonly status: 'SUCCEEDED'; readonly result: unknown }
  | { readonly status: 'FAILED'; readonly error: Error };

/**
 * Ends a run with its last checkpoint. The same transaction withdraws pending approvals and wakes the parent. A run
 * that was cancelled or timed out meanwhile ends as CANCELLED or FAILED, whatever `end` says. Unless it succeeds, the
 * child runs that it waits for are cancelled before.
 */
export function finishRemotely(
  runtime: Runtime,
  at: RunContext,
  save: RemoteSave,
  end: RemoteEnd,
): Promise<LoadedCheckpoint> {
  return saveRemotely(at, save, async (loaded) => {
    const { status, work } = loaded.head.meta;
    const isEnding = status === 'ENDING';
    if (!isEnding) checkIsRunning(at, loaded);
    if (isEnding || end.status === 'FAILED') await cancelChildren(runtime, at.run, readJournal(at, loaded));
    const { partition } = at;
    const endEntries = [endEntry(end)];
    const { outcomeOf } = await import('../journal/outcome.ts');
    const outcome = isEnding
      ? work?.outcome
      : outcomeOf(endEntries, loaded.head.meta, { partition, decision: work?.decision });
    return {
      status: isEnding ? (work?.ending ?? 'FAILED') : end.status,
      entries: isEnding ? [] : endEntries,
      sideWrites: [
        ...(await withdrawWritesById(at, work?.approvals ?? [], 'The run has ended.')),
        ...(await wakeParentWrites(at, work?.replyTo)),
      ],
      work: (current) => ({ ...endedWork(current), decision: undefined, outcome }),
    };
  });
}

const endEntry = (end: RemoteEnd): readonly [id: string, entry: Entry] =>
  end.status === 'SUCCEEDED'
    ? ['@result', { kind: 'result', value: end.result }]
    : ['@error', { kind: 'result', error: end.error }];

/** Saves a checkpoint and yields to another invocation. A run that makes no progress in several invocations fails. */
export function yieldRemotely(at: RunContext, save: RemoteSave): Promise<LoadedCheckpoint> {
  const { state, step, toolResults } = save;
  return saveRemotely(at, save, async ({ head, record }) => {
    checkIsRunning(at, { head, record });
    const { claimedVersion = 0, claims = 0 } = head.meta.work ?? {};
    const isProgress =
      record.version > claimedVersion || [state, step, toolResults].some((saved) => saved !== undefined);
    const attempt = isProgress ? {} : { claims, claimedVersion: record.version + 1 };
    return {
      status: 'READY',
      work: (current) => ({ ...readyWork(current, at.now()), ...attempt }),
    };
  });
}
