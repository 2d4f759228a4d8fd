import {
  decodeResult,
  listRuns,
  loadCheckpoint,
  type RunContext,
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
import { type Entry, hasSettled, type ResultEntry, resultOrError } from '../journal/entries.ts';
import type { Runtime } from '../runtime.ts';
import { sendSignal } from '../wake/early-signals.ts';
import type { Signal } from '../wake/events.ts';
import { deliverIfReady } from '../wake/wake.ts';
import { NO_WORK, restartedWork } from '../wake/work.ts';
import { endRun } from './end-run.ts';

/** Sends a signal to a run, or keeps it until the run starts. Returns false when its id was sent before. */
export async function signalRun(runtime: Runtime, run: string, signal: Signal): Promise<boolean> {
  const { name, id } = signal;
  if (typeof name !== 'string' || name === '' || name.length > 200)
    throw invalidInput('The signal name', 'text of 1 to 200 characters', name);
  if (id !== undefined && (typeof id !== 'string' || id === '')) throw invalidInput('The signal id', 'text', id);
  const at = await runtime.contexts.forRun(run);
  const isNew = await sendSignal(at, signal);
  if (isNew) await deliverIfReady(runtime, at);
  return isNew;
}

/** Cancels a run. A run that is executing stops at its next write; one that is suspended wakes up to undo its steps. */
export async function cancelRun(runtime: Runtime, run: string, reason = ''): Promise<Status> {
  if (typeof reason !== 'string' || reason.length > 2000)
    throw invalidInput('The cancel reason', 'text of at most 2,000 characters', reason);
  const at = await runtime.contexts.forRun(run);
  const error = runCancelled(run, reason);
  const { status, parent } = await endRun({ ...at, migrator: undefined }, { ending: 'CANCELLED', error });
  await deliverIfReady(runtime, at);
  if (parent !== undefined) await deliverIfReady(runtime, await runtime.contexts.forRun(parent));
  return status;
}

/** The error of a cancelled run. It has the reason as a property too, so that the console can show it alone. */
export const runCancelled = (run: string, reason = ''): WaitstateError =>
  Object.assign(
    new WaitstateError('RUN_CANCELLED', `Run "${run}" was cancelled${reason === '' ? '.' : `: ${reason}`}`, {
      scope: 'run',
    }),
    reason !== '' && { reason },
  );

/**
 * Resumes a FAILED run at the operation that failed. Steps that were undone and children that were cancelled run again
 * too, with new idempotency keys.
 */
export async function retryRun(runtime: Runtime, run: string): Promise<void> {
  const at = { ...(await runtime.contexts.forRun(run)), migrator: undefined };
  await retryOnConflict(async () => {
    const loaded = await loadCheckpoint(at);
    const { status, work = NO_WORK } = loaded.head.meta;
    if (status !== 'FAILED')
      throw new WaitstateError('TRANSITION_REFUSED', `Run "${run}" is ${status}; only a FAILED run can be retried.`, {
        scope: 'run',
      });
    const entries = rawEntries(loaded);
    const undone = entries.flatMap(([id]) => (id.startsWith('@undo:') ? [id.slice(6)] : []));
    const cancelledCallIds = await cancelledCalls(at, entries);
    const countOf = (id: string) =>
      (decodeResult(at, loaded, id) as Entry | undefined)?.value as BranchCount | undefined;
    const { failedOperations = [], error } = (decodeResult(at, loaded, '@error') ?? {}) as Partial<ResultEntry>;
    // After a non-determinism error, replay stays strict: a renamed operation would otherwise run a second time.
    const edited = isWaitstateError(error, 'STEP_MISMATCH') ? work.edited : true;
    await appendEntries(at, loaded, {
      kind: 'retry',
      status: 'READY',
      forget: [
        '@error',
        ...failedOperations.flatMap((id) => [id, ...enclosingBranches(id)]),
        ...undone.flatMap((id) => [`@undo:${id}`, id, `@kept:${id}`, ...branchesToRecount(id, countOf)]),
        ...cancelledCallIds,
      ],
      head: (current) => ({
        work: {
          ...restartedWork(current.work ?? NO_WORK, at.now()),
          edited,
          epoch: (work.epoch ?? 0) + (undone.length + cancelledCallIds.length > 0 ? 1 : 0),
        },
      }),
    });
  });
  await deliverIfReady(runtime, at);
}

/** The pending calls whose child runs were cancelled when the run ended. */
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

/** Retries every run of an agent that FAILED since the given date; returns their ids. */
export async function retryFailed(runtime: Runtime, agent: string, since: Date): Promise<readonly string[]> {
  const retriedRuns: string[] = [];
  for await (const { run } of listRuns(await runtime.contexts.forTenant(), { status: 'FAILED', agent, since })) {
    await retryRun(runtime, run);
    retriedRuns.push(run);
  }
  return retriedRuns;
}

/** Waits until the status of a run matches; throws TIMED_OUT when the timeout passes first. */
export async function waitForStatus(
  runtime: Runtime,
  run: string,
  matches: (status: Status) => boolean,
  timeout?: Duration,
): Promise<Status> {
  const at = await runtime.contexts.forRun(run);
  const deadline = timeout ? runtime.clock.now() + toMilliseconds('`timeout`', timeout) : Infinity;
  for (let delayMs = 50; ; delayMs = Math.min(2_000, delayMs * 1.5)) {
    const { status } = (await readLiveHead(at)).meta;
    if (matches(status)) return status;
    const remainingMs = deadline - runtime.clock.now();
    if (remainingMs <= 0)
      throw new WaitstateError(
        'TIMED_OUT',
        `Run "${run}" is still ${status} after the timeout. The run continues; wait for it again later.`,
      );
    await runtime.clock.sleep(Math.min(delayMs, remainingMs));
  }
}

/** Waits for the result of a run; throws RUN_FAILED, RUN_CANCELLED, or TIMED_OUT when the timeout passes first. */
export async function waitForResult(runtime: Runtime, run: string, timeout?: Duration): Promise<unknown> {
  await waitForStatus(runtime, run, hasEnded, timeout);
  const at = { ...(await runtime.contexts.forRun(run)), migrator: undefined };
  const loaded = await loadCheckpoint(at);
  const checkpoint = toCheckpoint(at, loaded);
  const end = resultOrError(checkpoint);
  if (!Object.hasOwn(end, 'error')) return end.value;
  if (isWaitstateError(end.error, 'RUN_CANCELLED')) throw end.error;
  const message = end.error instanceof Error ? end.error.message : String(end.error);
  const { failedOperations = [], notUndone = [] } = checkpoint.toolResults['@error'] as ResultEntry;
  const where = failedOperations.length > 0 ? ` at "${failedOperations.join('", "')}"` : '';
  const notUndoneText = notUndone.length > 0 ? ` Not undone: ${notUndone.join('; ')}` : '';
  throw new WaitstateError(
    'RUN_FAILED',
    `Run "${run}" is ${loaded.head.meta.status}${where}: ${message}${notUndoneText}`,
    {
      scope: 'run',
      cause: end.error,
    },
  );
}
