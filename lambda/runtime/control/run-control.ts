import type { RunContext } from '../../checkpoints/engine.ts';
import {
  decodeResult,
  listRuns,
  loadCheckpoint,
  readHead,
  readLiveHead,
  retryOnConflict,
  toCheckpoint,
} from '../../checkpoints/engine.ts';
import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { toPartition } from '../../core/ids.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { hasEnded, type Status } from '../../core/status.ts';
import { HEAD_KEY } from '../../storage/keys.ts';
import { appendEntries, rawEntries } from '../journal/append-entries.ts';
import { type BranchCount, branchesToRecount, enclosingBranches } from '../journal/branch-count.ts';
import { type Entry, hasSettled, resultOrError } from '../journal/entries.ts';
import type { Runtime } from '../runtime.ts';
import { sendSignal } from '../wake/early-signals.ts';
import type { Signal } from '../wake/events.ts';
import { deliverIfReady } from '../wake/wake.ts';
import { NO_WORK, restartedWork } from '../wake/work.ts';
import { endRun } from './end-run.ts';

/** Sends a signal to a run; one to a run that has not been started is kept for it. Says whether it is new. */
export async function signalRun(runtime: Runtime, run: string, signal: Signal): Promise<boolean> {
  const { name, id } = signal;
  if (typeof name !== 'string' || name === '' || name.length > 200)
    throw invalidInput('The name of a signal', 'text of 1 to 200 characters', name);
  if (id !== undefined && (typeof id !== 'string' || id === '')) throw invalidInput('The id of a signal', 'text', id);
  const at = await runtime.contexts.forRun(run);
  const isNew = await sendSignal(at, signal);
  if (isNew) await deliverIfReady(runtime, at);
  return isNew;
}

/** Cancels a run: what runs comes to its end, what waits is woken to undo what it did. */
export async function cancelRun(runtime: Runtime, run: string, reason = 'No reason was given.'): Promise<Status> {
  if (typeof reason !== 'string' || reason.length > 2000)
    throw invalidInput('The reason', 'text of at most 2,000 characters', reason);
  const at = await runtime.contexts.forRun(run);
  const error = new WaitstateError('RUN_CANCELLED', `Run "${run}" was cancelled: ${reason}`, { scope: 'run' });
  const { status, parent } = await endRun({ ...at, migrator: undefined }, { ending: 'CANCELLED', error });
  await deliverIfReady(runtime, at);
  if (parent !== undefined) await deliverIfReady(runtime, await runtime.contexts.forRun(parent));
  return status;
}

/**
 * Lets a run that failed go on from where it was: the operation that failed runs again, and so do those that were undone
 * and the children that were cancelled, then under new idempotency keys.
 */
export async function retryRun(runtime: Runtime, run: string): Promise<void> {
  const at = { ...(await runtime.contexts.forRun(run)), migrator: undefined };
  await retryOnConflict(async () => {
    const loaded = await loadCheckpoint(at);
    const { status, work = NO_WORK } = loaded.head.meta;
    if (status !== 'FAILED')
      throw new WaitstateError(
        'TRANSITION_REFUSED',
        `Only a run that is FAILED can be retried; run "${run}" is ${status}.`,
        { scope: 'run' },
      );
    const entries = rawEntries(loaded);
    const undone = entries.flatMap(([id]) => (id.startsWith('@undo:') ? [id.slice(6)] : []));
    const called = await cancelledCalls(at, entries);
    const countOf = (id: string) =>
      (decodeResult(at, loaded, id) as Entry | undefined)?.value as BranchCount | undefined;
    const { failedAt = [], error } = (decodeResult(at, loaded, '@error') ?? {}) as Partial<Entry>;
    // Code that did not fit is looked at again: a new name in an old place would do again what was done.
    const edited = isWaitstateError(error, 'STEP_MISMATCH') ? work.edited : true;
    await appendEntries(at, loaded, {
      kind: 'retry',
      status: 'READY',
      forget: [
        '@error',
        ...failedAt.flatMap((id) => [id, ...enclosingBranches(id)]),
        ...undone.flatMap((id) => [`@undo:${id}`, id, `@kept:${id}`, ...branchesToRecount(id, countOf)]),
        ...called,
      ],
      head: (there) => ({
        work: {
          ...restartedWork(there.work ?? NO_WORK, at.now()),
          edited,
          epoch: (work.epoch ?? 0) + (undone.length + called.length > 0 ? 1 : 0),
        },
      }),
    });
  });
  await deliverIfReady(runtime, at);
}

/** The calls that the run waited for when it failed, and whose children were cancelled for that. */
export async function cancelledCalls(
  at: RunContext,
  entries: ReturnType<typeof rawEntries>,
): Promise<readonly string[]> {
  const calls: string[] = [];
  for (const [id, { kind, child, ...entry }] of entries) {
    if (kind !== 'call' || typeof child !== 'string' || hasSettled(entry)) continue;
    const [stored] = await at.records.read(toPartition(at.tenant, child), [HEAD_KEY]);
    const { status, work } = stored ? readHead(stored).meta : {};
    if (status === 'CANCELLED' || (status === 'ENDING' && work?.ending === 'CANCELLED')) calls.push(id);
  }
  return calls;
}

/** Retries all runs of an agent that FAILED since a moment; gives their ids. */
export async function retryFailed(runtime: Runtime, agent: string, since: Date): Promise<readonly string[]> {
  const retried: string[] = [];
  for await (const { run } of listRuns(await runtime.contexts.forTenant(), { status: 'FAILED', agent, since })) {
    await retryRun(runtime, run);
    retried.push(run);
  }
  return retried;
}

/** Waits until a run has a status; throws TIMED_OUT when it has none of them in time. */
export async function waitForStatus(
  runtime: Runtime,
  run: string,
  isThere: (status: Status) => boolean,
  timeout?: Duration,
): Promise<Status> {
  const at = await runtime.contexts.forRun(run);
  const until = timeout ? runtime.clock.now() + toMilliseconds('`timeout`', timeout) : Infinity;
  for (let pause = 50; ; pause = Math.min(2_000, pause * 1.5)) {
    const { status } = (await readLiveHead(at)).meta;
    if (isThere(status)) return status;
    const left = until - runtime.clock.now();
    if (left <= 0)
      throw new WaitstateError('TIMED_OUT', `Run "${run}" is still ${status}. It goes on; ask again later.`);
    await runtime.clock.sleep(Math.min(pause, left));
  }
}

/** The result of a run, waited for; throws what the run failed with, and TIMED_OUT when it is not over in time. */
export async function waitForResult(runtime: Runtime, run: string, timeout?: Duration): Promise<unknown> {
  await waitForStatus(runtime, run, hasEnded, timeout);
  const at = { ...(await runtime.contexts.forRun(run)), migrator: undefined };
  const loaded = await loadCheckpoint(at);
  const checkpoint = toCheckpoint(at, loaded);
  const end = resultOrError(checkpoint);
  if (!Object.hasOwn(end, 'error')) return end.value;
  if (isWaitstateError(end.error, 'RUN_CANCELLED')) throw end.error;
  const message = end.error instanceof Error ? end.error.message : String(end.error);
  const { failedAt = [], notUndone = [] } = checkpoint.toolResults['@error'] as Entry;
  const where = failedAt.length > 0 ? ` at "${failedAt.join('", "')}"` : '';
  const left = notUndone.length > 0 ? ` Not undone: ${notUndone.join('; ')}` : '';
  throw new WaitstateError('RUN_FAILED', `Run "${run}" is ${loaded.head.meta.status}${where}: ${message}${left}`, {
    scope: 'run',
    cause: end.error,
  });
}
