import { toMilliseconds } from '../../core/duration.ts';
import { isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { operationName } from '../../core/operation-name.ts';
import type { StepContext, StepOptions } from '../definition/agent-context.ts';
import { agentMisuse, toError } from '../definition/agent-errors.ts';
import { checkRetryPolicy, retryDelayMs } from '../definition/retry-policy.ts';
import type { BatchItem } from '../invocation/batch.ts';
import { EventBuffer } from '../invocation/emitted-events.ts';
import type { Invocation } from '../invocation/invocation.ts';
import { type Entry, hasSettled, type SmallEntry, type StepEntry } from '../journal/entries.ts';
import type { Scope } from '../journal/identity.ts';

/** Waits up to this long stay in the process: suspending and starting a function again would cost more. */
export const MAX_IN_PROCESS_WAIT_MS = 10_000;

/** A step to run or replay, under its operation id. */
export interface StepWork<T> {
  readonly id: string;
  readonly kind: StepEntry['kind'];
  readonly hash?: string | undefined;
  readonly run: (step: StepContext) => T | Promise<T>;
  readonly options: StepOptions<T>;
  /** Makes the batch item that records the completed entry. @default the entry under the operation's id */
  readonly item?: (entry: StepEntry) => BatchItem;
}

/** Implements `ctx.step`. */
export async function step<T>(
  invocation: Invocation,
  scope: Scope,
  name: string,
  run: (step: StepContext) => T | Promise<T>,
  options: StepOptions<T> = {},
): Promise<T> {
  invocation.checkCall('ctx.step', scope);
  if (typeof run !== 'function') throw agentMisuse(`\`ctx.step('${name}', …)\` needs a function; found ${typeof run}.`);
  checkStepOptions(invocation, name, options);
  const identity = scope.enter(name, options.key);
  return invocation.runOperation(identity, () =>
    runOrReplay(invocation, scope, { id: identity.id, kind: 'step', run, options }),
  );
}

/** Throws INVALID_INPUT or AGENT_MISUSED when step options are invalid or do not fit the agent. */
export function checkStepOptions(
  { agent }: Invocation,
  name: string,
  { retry, undo, transact, transactRaw, timeout }: StepOptions<never>,
): void {
  if (retry) checkRetryPolicy(retry);
  if (timeout) toMilliseconds('`timeout`', timeout);
  if (undo && agent.turn)
    throw agentMisuse(
      `Step "${name}" has an \`undo\`, which does not outlive the turn. Define it on the agent: \`undo: { '${name}': … }\`.`,
    );
  if ((transact || transactRaw) && !agent.transact)
    throw agentMisuse(
      `Step "${name}" has \`${transact ? 'transact' : 'transactRaw'}\`, which needs \`transact: true\` on the agent: storage support is checked when the agent is defined.`,
    );
}

/** Returns the recorded result of a step, or runs the step, with retries by its policy, and records the result. */
export async function runOrReplay<T>(invocation: Invocation, scope: Scope | undefined, work: StepWork<T>): Promise<T> {
  const { id, kind, hash } = work;
  const existing = invocation.recorded(id, kind, hash);
  if (existing && hasSettled(existing)) return valueOrThrow(invocation, work, existing);
  if (kind !== 'undo') await invocation.begin(scope, id);
  const policy = work.options.retry ?? invocation.agent.retry ?? {};
  for (let entry: StepEntry = existing ?? { kind, ...(hash !== undefined && { hash }) }; ; ) {
    if ((entry.startedAttempts ?? 0) > (entry.failures ?? 0)) {
      const error = outcomeUnknown(id, PROCESS_ENDED);
      return valueOrThrow(invocation, work, await recordEntry(invocation, id, { ...entry, error }));
    }
    await waitForRetry(invocation, id, entry);
    if (kind !== 'undo' && !invocation.canBegin) return invocation.hang();
    const next = await invocation.runActive(() =>
      runAttempt(invocation, work, entry, (error, failures) =>
        retryDelayMs(error, failures, policy, invocation.runtime.random()),
      ),
    );
    if (hasSettled(next)) return valueOrThrow(invocation, work, next);
    entry = next;
  }
}

/** Returns the value of a completed entry, or throws its error. */
function valueOrThrow<T>(
  invocation: Invocation,
  { id, options }: Pick<StepWork<T>, 'id' | 'options'>,
  entry: Entry,
): T {
  if (Object.hasOwn(entry, 'error')) {
    invocation.failedOperations.set(Object(entry.error), id);
    throw entry.error;
  }
  registerUndo(invocation, { id, options });
  return entry.value as T;
}

/** Registers the function that undoes a step. */
export function registerUndo<T>(
  { undos }: Invocation,
  { id, options: { undo } }: Pick<StepWork<T>, 'id' | 'options'>,
): void {
  if (undo) undos.set(id, undo as (result: never, step: StepContext) => unknown);
}

/** Waits until a failed step can be retried: in this process for a short delay, suspended for a long one. */
async function waitForRetry(invocation: Invocation, id: string, entry: StepEntry): Promise<void> {
  const waitMs = (entry.retryAt ?? 0) - invocation.now;
  if (waitMs <= 0) return;
  if (waitMs <= MAX_IN_PROCESS_WAIT_MS && waitMs < invocation.lifetime.remainingMs)
    await invocation.runActive(() => invocation.runtime.clock.sleep(waitMs));
  else await invocation.pendingWaits.waitFor(id, entry, 'SLEEPING');
}

/** Runs one attempt and records its value, its failure and the time of the next attempt, or its final failure. */
async function runAttempt<T>(
  invocation: Invocation,
  work: StepWork<T>,
  entry: StepEntry,
  delayFor: (error: unknown, failures: number) => number | undefined,
): Promise<StepEntry> {
  const { id, options } = work;
  const {
    failures = 0,
    retryAt: _retryAt,
    lastFailure: _lastFailure,
    startedAttempts: _startedAttempts,
    ...entryBase
  } = entry;
  if (options.atMostOnce)
    await invocation.record({
      entries: [[id, { ...entryBase, failures, startedAttempts: failures + 1 }]],
      note: `start of ${id}`,
    });
  const began = invocation.now;
  const ran = (): readonly [number, number] => [began, invocation.now];
  const events = new EventBuffer();
  try {
    await invocation.probe('before', id);
    const value = await callFunction(invocation, work, failures + 1, events).finally(() =>
      invocation.probe('after', id),
    );
    // Past the cutoff nothing is recorded: another invocation takes over the run.
    if (invocation.lifetime.cutoff.signal.aborted) return await invocation.hang();
    const undoable = options.undo || invocation.agent.undo?.[operationName(id)];
    const undo = undoable && work.kind !== 'undo' ? { undo: true as const, order: invocation.journal.nextOrder() } : {};
    const completed: StepEntry = { ...entryBase, ...undo, value };
    const hasWrites = options.transact || options.transactRaw;
    const writes =
      hasWrites && (await import('./transact.ts')).transactWrites(id, options, value, invocation.at.records);
    await invocation.record({
      step: id,
      ran: ran(),
      ...(options.model && { model: options.model }),
      ...writes,
      ...(work.item?.(completed) ?? { entries: [[id, completed]] }),
      events: events.take(),
    });
    await invocation.probe('recorded', id);
    return invocation.journal.entry(id) as StepEntry;
  } catch (thrown) {
    if (invocation.lifetime.cutoff.signal.aborted) return await invocation.hang();
    // A function that timed out may still take effect.
    const isUnknown = options.atMostOnce && isWaitstateError(thrown, 'TIMED_OUT');
    const error = isUnknown ? outcomeUnknown(id, TIMEOUT_EXCEEDED, thrown) : toError(thrown);
    const delayMs = delayFor(error, failures + 1);
    const failed = { ...entryBase, failures: failures + 1 };
    const about = { events: events.take(), ran: ran() };
    if (delayMs === undefined) return recordEntry(invocation, id, { ...failed, error }, about);
    const lastFailure = String(error.message).slice(0, 300);
    return recordEntry(invocation, id, { ...failed, retryAt: invocation.now + delayMs, lastFailure }, about);
  }
}

/**
 * Calls the step's function, marked as inside a step. When the step's timeout or the invocation's cutoff passes, the
 * call is no longer awaited; the function itself can only be asked to stop, by its abort signal.
 */
async function callFunction<T>(
  invocation: Invocation,
  work: StepWork<T>,
  attempt: number,
  events: EventBuffer,
): Promise<T> {
  const { id, kind, run, options } = work;
  const { inStep, runtime } = invocation;
  const { cutoff } = invocation.lifetime;
  const aborter = new AbortController();
  const timer = options.timeout && new AbortController();
  const stop = () => aborter.abort(cutoff.signal.reason);
  cutoff.signal.addEventListener('abort', stop, { once: true });
  let isRunning = true;
  const stepContext: StepContext = {
    idempotencyKey: invocation.idempotencyKey(id),
    attempt,
    signal: aborter.signal,
    // A function that runs on after its attempt has ended no longer adds to it.
    emit: (event) => isRunning && events.add(invocation.at, invocation.now, event, id, attempt),
    stream: (output) => isRunning && invocation.stream(id, attempt, output),
  };
  const about = { name: operationName(id), kind, attempt, model: options.model };
  const call = async () => (runtime.spans ? runtime.spans.step(about, async () => run(stepContext)) : run(stepContext));
  try {
    return await new Promise<T>((resolve, reject) => {
      aborter.signal.addEventListener('abort', () => reject(aborter.signal.reason), { once: true });
      inStep.run(`step "${id}"`, call).then(resolve, reject);
      if (!options.timeout || !timer) return;
      runtime.clock.sleep(toMilliseconds('`timeout`', options.timeout), timer.signal, true).then(
        () => aborter.abort(stepTimedOut(id)),
        () => {},
      );
    });
  } finally {
    isRunning = false;
    cutoff.signal.removeEventListener('abort', stop);
    timer?.abort();
  }
}

const stepTimedOut = (id: string): WaitstateError =>
  new WaitstateError('TIMED_OUT', `Step "${id}" took longer than its timeout.`, { scope: 'step' });

/**
 * Records an entry; when its error holds values that cannot be stored, only its name, message and stack are recorded.
 */
export async function recordEntry<Recorded extends StepEntry | SmallEntry>(
  invocation: Invocation,
  id: string,
  entry: Recorded,
  about: Pick<BatchItem, 'events' | 'ran'> = {},
): Promise<Recorded> {
  const failed = ('retryAt' in entry && entry.retryAt !== undefined) || Object.hasOwn(entry, 'error');
  const labels = { ...(hasSettled(entry) && { step: id }), ...(failed && { failed: id }), ...about };
  try {
    await invocation.record({ entries: [[id, entry]], ...labels });
  } catch (error) {
    if (!isWaitstateError(error, 'UNSUPPORTED_VALUE')) throw error;
    const { name, message, stack } = toError(entry.error);
    const plainError = Object.assign(new Error(message), { name, stack });
    await invocation.record({ entries: [[id, { ...entry, error: plainError }]], ...labels });
  }
  return invocation.journal.entry(id) as Recorded;
}

const PROCESS_ENDED = 'the process ended before its result was recorded';
const TIMEOUT_EXCEEDED = 'it took longer than its timeout';

const outcomeUnknown = (id: string, reason: string, cause?: unknown): WaitstateError =>
  new WaitstateError(
    'OUTCOME_UNKNOWN',
    `Step "${id}" is \`atMostOnce\` and was started, but ${reason}, so it is unknown whether it took effect. Check the service that it calls, then decide how to continue.`,
    { scope: 'step', cause },
  );
