import { encode } from '../../checkpoints/engine.ts';
import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { WaitstateError } from '../../core/errors.ts';
import { MAX_ID_BYTES } from '../../core/ids.ts';
import type { Status } from '../../core/status.ts';
import { withdrawWritesById } from '../control/end-run.ts';
import { startRun } from '../control/start-run.ts';
import type { Callable, CallOptions, SignalOptions } from '../definition/agent-context.ts';
import { validate } from '../definition/standard-schema.ts';
import type { BatchItem } from '../invocation/batch.ts';
import type { Invocation } from '../invocation/invocation.ts';
import {
  CURSOR_ID,
  type EntryKind,
  type EntryOf,
  entryOf,
  hasSettled,
  type SleepEntry,
  waitName,
} from '../journal/entries.ts';
import { type Scope, shortHash } from '../journal/identity.ts';
import { canonicalJson } from './canonical.ts';
import { MAX_IN_PROCESS_WAIT_MS } from './step.ts';

type WaitKind = 'sleep' | 'signal' | 'approval' | 'call';

/** A wait to start or replay, under its operation id. */
interface WaitRequest<Kind extends WaitKind> {
  readonly id: string;
  readonly kind: Kind;
  readonly hash?: string;
  readonly status: Status;
  /** Starts the wait and returns its entry. */
  readonly begin: () => Promise<EntryOf<Kind>>;
}

/** Returns the settled entry of a wait: the recorded one, or one that an event or a timer settles. */
async function waitUntilSettled<Kind extends WaitKind>(
  invocation: Invocation,
  scope: Scope,
  { id, kind, hash, status, begin }: WaitRequest<Kind>,
): Promise<EntryOf<Kind>> {
  const existing = invocation.recorded(id, kind, hash);
  if (existing && hasSettled(existing)) {
    invocation.markReached(id);
    return existing;
  }
  await invocation.begin(scope, id);
  if (existing) return invocation.pendingWaits.waitFor(id, existing, status);
  const entry = await begin();
  if (hasSettled(entry)) return entry;
  const announcement: BatchItem = { entries: [[id, entry]], note: `start of ${waitName(id, entry)}` };
  return invocation.pendingWaits.waitFor(id, entry, status, announcement);
}

/**
 * The batch item that ends the waits of abandoned scopes: they no longer consume signals, and their pending approvals
 * are withdrawn. Entries of child runs stay, so that the children can still be cancelled.
 */
export function abandonWaits(
  invocation: Invocation,
  paths: readonly string[],
): Pick<BatchItem, 'forget' | 'sideWrites' | 'work'> {
  // From the journal, to include waits that a replay has not reached again.
  const waits = [...invocation.journal].filter(
    ([id, entry]) =>
      WAIT_KINDS.has(entry.kind) &&
      !hasSettled(entry) &&
      // A decided approval no longer waits: its result may be about to be recorded.
      !('decided' in entry && entry.decided !== undefined) &&
      !invocation.pendingWaits.settling.has(id) &&
      paths.some((path) => id.startsWith(path)),
  );
  for (const id of invocation.pendingWaits.ids)
    if (paths.some((path) => id.startsWith(path))) invocation.pendingWaits.stop(id);
  const pendingApprovals = waits.flatMap(([, entry]) => (entry.kind === 'approval' ? entry.approval : []));
  return {
    forget: waits.flatMap(([id, { kind }]) => (kind === 'call' ? [] : id)),
    ...(pendingApprovals.length > 0 && {
      sideWrites: () => withdrawWritesById(invocation.at, pendingApprovals, 'It is no longer needed.'),
      work: (work) => ({
        ...work,
        approvals: work.approvals?.filter((approval) => !pendingApprovals.includes(approval)),
      }),
    }),
  };
}

// A step that waits for a retry is not included: its result may be about to be recorded.
const WAIT_KINDS: ReadonlySet<EntryKind> = new Set<WaitKind>(['sleep', 'signal', 'approval', 'call']);

/** Implements `ctx.sleep`. */
export async function sleep(invocation: Invocation, scope: Scope, name: string, duration: Duration): Promise<void> {
  invocation.checkCall('ctx.sleep', scope);
  const milliseconds = toMilliseconds('The duration of `ctx.sleep`', duration);
  const identity = scope.enter(name);
  const { id } = identity;
  await invocation.runOperation(identity, () =>
    waitUntilSettled(invocation, scope, {
      id,
      kind: 'sleep',
      status: 'SLEEPING',
      begin: async () => {
        const entry: SleepEntry = {
          kind: 'sleep',
          until: invocation.now + milliseconds,
          ...invocation.journal.beginWait(id),
        };
        if (milliseconds > MAX_IN_PROCESS_WAIT_MS || milliseconds >= invocation.lifetime.remainingMs) return entry;
        await invocation.runActive(async () => {
          await invocation.runtime.clock.sleep(milliseconds);
          await invocation.record({ entries: [[id, { ...entry, value: undefined }]], note: `sleep ${id}` });
        });
        return invocation.journal.entry(id) as SleepEntry;
      },
    }),
  );
}

/** Implements `ctx.waitForSignal`. */
export async function waitForSignal(
  invocation: Invocation,
  scope: Scope,
  name: string,
  { timeout }: SignalOptions = {},
): Promise<unknown> {
  invocation.checkCall('ctx.waitForSignal', scope);
  const milliseconds = timeout && toMilliseconds('`timeout`', timeout);
  const identity = scope.enter(name);
  const entry = await invocation.runOperation(identity, () =>
    waitUntilSettled(invocation, scope, {
      id: identity.id,
      kind: 'signal',
      status: 'WAITING_FOR_SIGNAL',
      begin: async () => {
        // The signal may have arrived before the wait started.
        const { cursor = 0 } = entryOf(invocation.journal, CURSOR_ID, 'cursor') ?? {};
        if (invocation.writer.seenEventCount > cursor) invocation.pendingWaits.checkOutcomesSoon();
        return {
          kind: 'signal',
          signal: name,
          ...invocation.journal.beginWait(identity.id),
          ...(milliseconds !== undefined && { until: invocation.now + milliseconds }),
        };
      },
    }),
  );
  if (Object.hasOwn(entry, 'error')) throw entry.error;
  // Validated on every replay: the output of a schema may be a value that cannot be stored.
  return entry.unchecked ? validate(`Signal "${name}"`, invocation.agent.signals?.[name], entry.value) : entry.value;
}

// A child wakes its parent when it ends. The parent also checks on it after this time, in case the event was lost.
const CHILD_CHECK_MS = 86_400_000;

/** Implements `ctx.call`. */
export async function call<Input, Result>(
  invocation: Invocation,
  scope: Scope,
  agent: Callable<Input, Result>,
  input: Input,
  options: CallOptions = {},
): Promise<Result> {
  invocation.checkCall('ctx.call', scope);
  const name = typeof agent === 'string' ? agent : agent.name;
  const identity = scope.enter(name, options.key);
  const { id } = identity;
  const { at } = invocation;
  return invocation.runOperation(identity, async () => {
    const inputJson = canonicalJson(encode(input, { root: `input of ${name}`, types: at.types }));
    const hash = shortHash(`${name}\n${inputJson}`);
    const entry = await waitUntilSettled(invocation, scope, {
      id,
      kind: 'call',
      status: 'WAITING_FOR_SIGNAL',
      hash,
      begin: async () => {
        const child = options.id ?? childId(invocation, id);
        const { version } = invocation.writer.loaded.record;
        const { owner, requestedBy } = invocation.writer.loaded.head.meta;
        const parent = { run: at.run, version };
        const parsedInput = typeof agent === 'string' ? input : await agent.parseInput(input);
        const { isNew } = await invocation.runStorageCall(() =>
          startRun(invocation.runtime, {
            agent: name,
            input: parsedInput,
            id: child,
            parent,
            owner,
            requestedBy,
            parentWaits: true,
            ...(typeof agent === 'string' && { unchecked: true }),
          }),
        );
        // A child that existed before may already have ended.
        if (!isNew) invocation.pendingWaits.checkOutcomesSoon();
        const existed = !isNew && { existed: true as const };
        return {
          kind: 'call',
          hash,
          child,
          ...existed,
          checkAt: invocation.now + CHILD_CHECK_MS,
          ...invocation.journal.beginWait(id),
        };
      },
    });
    if (!Object.hasOwn(entry, 'error')) return entry.value as Result;
    const message = `Run "${entry.child}" of agent "${name}" failed: ${String(entry.error)}`;
    const error = new WaitstateError('RUN_FAILED', message, { scope: 'step', cause: entry.error });
    invocation.failedOperations.set(error, id);
    throw error;
  });
}

/** The default id of a child run: derived from the operation, so that a replay finds the same child. */
function childId({ at, work }: Invocation, id: string): string {
  const epoch = work.epoch ? `.${work.epoch}` : '';
  const readable = `${at.run}.${id}${epoch}`;
  return encodeURIComponent(readable).length <= MAX_ID_BYTES ? readable : `child.${shortHash(readable)}`;
}
