import { toMilliseconds } from '../../core/duration.ts';
import { isWaitstateError, WaitstateError } from '../../core/errors.ts';
import type { ConditionFailedError } from '../../storage/ports.ts';
import type { StepContext, StepOptions } from '../definition/agent-context.ts';
import { agentMisuse, toError } from '../definition/agent-errors.ts';
import { checkRetryPolicy, retryDelayMs } from '../definition/retry-policy.ts';
import type { BatchItem } from '../invocation/batch.ts';
import type { Invocation } from '../invocation/invocation.ts';
import { type Entry, type EntryKind, hasSettled } from '../journal/entries.ts';
import { operationName, type Scope } from '../journal/identity.ts';

/** What stays in the process instead of suspending the run: a start of a function is slower than that. */
export const MAX_IN_PROCESS_WAIT_MS = 10_000;

/** A piece of work under its identity. */
export interface StepWork<T> {
  readonly id: string;
  readonly kind: EntryKind;
  readonly hash?: string | undefined;
  readonly run: (tools: StepContext) => T | Promise<T>;
  readonly options: StepOptions<T>;
  /** What is recorded with the value. @default the value in the entry */
  readonly item?: (entry: Entry) => BatchItem;
}

/** `ctx.step` */
export async function step<T>(
  invocation: Invocation,
  scope: Scope,
  name: string,
  run: (tools: StepContext) => T | Promise<T>,
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

export function checkStepOptions(
  { agent }: Invocation,
  name: string,
  { retry, undo, transact, timeout }: StepOptions<never>,
): void {
  if (retry) checkRetryPolicy(retry);
  if (timeout) toMilliseconds('`timeout`', timeout);
  if (undo && agent.turn)
    throw agentMisuse(
      `Step "${name}" has an \`undo\`, which would be gone after the turn. Name it in the agent: \`undo: { '${name}': … }\`.`,
    );
  if (transact && !agent.transact)
    throw agentMisuse(
      `Step "${name}" has \`transact\`; the agent must say \`transact: true\`, so that it is refused where the storage cannot.`,
    );
}

/** What is recorded of a piece of work; what is not recorded is run, as often as its policy says. */
export async function runOrReplay<T>(invocation: Invocation, scope: Scope | undefined, work: StepWork<T>): Promise<T> {
  const { id, kind, hash } = work;
  const there = invocation.journal.get(id);
  if (there) invocation.checkEntry(id, there, kind, hash);
  if (there && hasSettled(there)) return ended(invocation, work, there);
  if (kind !== 'undo') await invocation.begin(scope, id);
  const policy = work.options.retry ?? invocation.agent.retry ?? {};
  for (let entry = there ?? { kind, ...(hash !== undefined && { hash }) }; ; ) {
    if ((entry.begun ?? 0) > (entry.failures ?? 0)) {
      return ended(invocation, work, await recordEntry(invocation, id, { ...entry, error: outcomeUnknown(id, DIED) }));
    }
    await pause(invocation, id, entry);
    if (kind !== 'undo' && !invocation.canBegin) return invocation.hang();
    const after = await invocation.runActive(() =>
      attempt(invocation, work, entry, (error, failures) =>
        retryDelayMs(error, failures, policy, invocation.runtime.random()),
      ),
    );
    if (hasSettled(after)) return ended(invocation, work, after);
    entry = after;
  }
}

/** The value or the error of an entry. */
function ended<T>(invocation: Invocation, { id, options }: Pick<StepWork<T>, 'id' | 'options'>, entry: Entry): T {
  if (Object.hasOwn(entry, 'error')) {
    invocation.failedAt.set(Object(entry.error), id);
    throw entry.error;
  }
  registerUndo(invocation, { id, options });
  return entry.value as T;
}

/** Remembers what takes a step back. */
export function registerUndo<T>(
  { undos }: Invocation,
  { id, options: { undo } }: Pick<StepWork<T>, 'id' | 'options'>,
): void {
  if (undo) undos.set(id, undo as (result: never, tools: StepContext) => unknown);
}

/** Waits until a failed step may be tried again: in this process when that is soon, suspended when it is not. */
async function pause(invocation: Invocation, id: string, entry: Entry): Promise<void> {
  const wait = (entry.retryAt ?? 0) - invocation.now;
  if (wait <= 0) return;
  if (wait <= MAX_IN_PROCESS_WAIT_MS && wait < invocation.lifetime.remainingMs)
    await invocation.runActive(() => invocation.runtime.clock.sleep(wait));
  else await invocation.pendingWaits.waitFor(id, entry, 'SLEEPING');
}

/** One attempt, recorded: its value, its failure and when the next attempt is, or its last failure. */
async function attempt<T>(
  invocation: Invocation,
  work: StepWork<T>,
  entry: Entry,
  pauseOf: (error: unknown, failures: number) => number | undefined,
): Promise<Entry> {
  const { id, options } = work;
  const { failures = 0, retryAt: _, because: __, begun: ___, ...bare } = entry;
  if (options.atMostOnce) await invocation.record({ entries: [[id, { ...bare, failures, begun: failures + 1 }]] });
  try {
    await invocation.probe('before', id);
    const value = await once(invocation, work, failures + 1).finally(() => invocation.probe('after', id));
    // Too late: the run is given to another invocation.
    if (invocation.lifetime.cutoff.signal.aborted) return await invocation.hang();
    const undoable = options.undo || invocation.agent.undo?.[operationName(id)];
    const undo = undoable && work.kind !== 'undo' ? { undo: true as const, order: invocation.journal.nextOrder() } : {};
    const done: Entry = { ...bare, ...undo, value };
    await invocation.record({
      step: id,
      ...(options.model && { model: options.model }),
      ...(options.transact && transaction(id, options.transact(value))),
      ...(work.item?.(done) ?? { entries: [[id, done]] }),
    });
    await invocation.probe('recorded', id);
    return invocation.journal.entry(id);
  } catch (thrown) {
    if (invocation.lifetime.cutoff.signal.aborted) return await invocation.hang();
    // What nobody waits for any longer may still take effect.
    const isUnknown = options.atMostOnce && isWaitstateError(thrown, 'TIMED_OUT');
    const error = isUnknown ? outcomeUnknown(id, SLOW, thrown) : toError(thrown);
    const pauseMs = pauseOf(isUnknown ? error : thrown, failures + 1);
    const failed = { ...bare, failures: failures + 1 };
    if (pauseMs === undefined) return recordEntry(invocation, id, { ...failed, error });
    const because = String(error.message).slice(0, 300);
    return recordEntry(invocation, id, { ...failed, retryAt: invocation.now + pauseMs, because });
  }
}

/**
 * Runs the function, known to be inside of a step. When its time or that of the invocation is over, nobody waits for it
 * any longer; the work itself can only be asked to stop.
 */
async function once<T>(invocation: Invocation, { id, run, options }: StepWork<T>, count: number): Promise<T> {
  const { inStep, runtime } = invocation;
  const { cutoff: letGo } = invocation.lifetime;
  const over = new AbortController();
  const timer = options.timeout && new AbortController();
  const stop = () => over.abort(letGo.signal.reason);
  letGo.signal.addEventListener('abort', stop, { once: true });
  const tools = { idempotencyKey: invocation.idempotencyKey(id), attempt: count, signal: over.signal };
  try {
    return await new Promise<T>((resolve, reject) => {
      over.signal.addEventListener('abort', () => reject(over.signal.reason), { once: true });
      inStep.run(`step "${id}"`, async () => run(tools)).then(resolve, reject);
      if (!options.timeout || !timer) return;
      runtime.clock.sleep(toMilliseconds('`timeout`', options.timeout), timer.signal).then(
        () => over.abort(tookTooLong(id)),
        () => {},
      );
    });
  } finally {
    letGo.signal.removeEventListener('abort', stop);
    timer?.abort();
  }
}

const tookTooLong = (id: string): WaitstateError =>
  new WaitstateError('TIMED_OUT', `Step "${id}" took longer than its timeout.`, { scope: 'step' });

/** Records an entry whose error may hold what cannot be kept. */
export async function recordEntry(invocation: Invocation, id: string, entry: Entry): Promise<Entry> {
  const failed = entry.retryAt !== undefined || Object.hasOwn(entry, 'error');
  const over = { ...(hasSettled(entry) && { step: id }), ...(failed && { failed: id }) };
  try {
    await invocation.record({ entries: [[id, entry]], ...over });
  } catch (error) {
    if (!isWaitstateError(error, 'UNSUPPORTED_VALUE')) throw error;
    const { name, message, stack } = toError(entry.error);
    const plain = Object.assign(new Error(message), { name, stack });
    await invocation.record({ entries: [[id, { ...entry, error: plain }]], ...over });
  }
  return invocation.journal.entry(id);
}

const MOST_WRITES = 90;

function transaction(id: string, items: readonly object[]): Pick<BatchItem, 'sideWrites' | 'conditionError'> {
  if (!Array.isArray(items) || items.length > MOST_WRITES)
    throw agentMisuse(
      `\`transact\` of step "${id}" must give at most ${MOST_WRITES} items; found ${Array.isArray(items) ? items.length : typeof items}.`,
    );
  return {
    sideWrites: async () => items.map((foreign) => ({ foreign, when: 'foreign' as const })),
    conditionError: (error: ConditionFailedError) =>
      new WaitstateError(
        'CONDITION_FAILED',
        `The condition of write ${[...error.found.keys()].join(', ')} of step "${id}" did not hold; neither it nor the step was recorded.`,
        { scope: 'step', cause: error },
      ),
  };
}

const DIED = 'the process ended before its result was recorded';
const SLOW = 'it took longer than its timeout';

const outcomeUnknown = (id: string, why: string, cause?: unknown): WaitstateError =>
  new WaitstateError(
    'OUTCOME_UNKNOWN',
    `Step "${id}" may run only once. It was begun, and ${why}: nobody knows whether it took effect. Find out, then decide.`,
    { scope: 'step', cause },
  );
