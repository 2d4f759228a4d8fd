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
import { CURSOR_ID, type Entry, type EntryKind, hasSettled } from '../journal/entries.ts';
import { type Scope, shortHash } from '../journal/identity.ts';
import { canonicalJson } from './canonical.ts';
import { MAX_IN_PROCESS_WAIT_MS } from './step.ts';

/** A wait under its identity. */
interface Waiting {
  readonly id: string;
  readonly kind: EntryKind;
  readonly hash?: string;
  readonly status: Status;
  /** The entry of a wait that begins now. */
  readonly begin: () => Promise<Entry>;
}

/** The settled entry of a wait: the recorded one, or the one that an event or time will make. */
async function waited(
  invocation: Invocation,
  scope: Scope,
  { id, kind, hash, status, begin }: Waiting,
): Promise<Entry> {
  const there = invocation.journal.get(id);
  if (there) invocation.checkEntry(id, there, kind, hash);
  if (there && hasSettled(there)) {
    invocation.markReached(id);
    return there;
  }
  await invocation.begin(scope, id);
  if (there) return invocation.pendingWaits.waitFor(id, there, status);
  const entry = await begin();
  if (hasSettled(entry)) return entry;
  const announce: BatchItem = { entries: [[id, entry]] };
  return invocation.pendingWaits.waitFor(id, entry, status, announce);
}

/**
 * What is recorded when nobody needs the waits of some scopes any more: a signal must not go to who does not wait for it,
 * and nobody is asked for nothing. Children stay known for as long as they may have to be cancelled.
 */
export function abandonWaits(
  invocation: Invocation,
  paths: readonly string[],
): Pick<BatchItem, 'forget' | 'sideWrites' | 'work'> {
  // Also what a replay has not reached again.
  const waits = [...invocation.journal].filter(
    ([id, entry]) =>
      WAITS.has(entry.kind) &&
      !hasSettled(entry) &&
      // What was decided waits for nothing any more: what came of it may be on its way.
      entry.decided === undefined &&
      !invocation.pendingWaits.settling.has(id) &&
      paths.some((path) => id.startsWith(path)),
  );
  for (const id of invocation.pendingWaits.ids)
    if (paths.some((path) => id.startsWith(path))) invocation.pendingWaits.stop(id);
  const open = waits.flatMap(([, { approval }]) => approval ?? []);
  return {
    forget: waits.flatMap(([id, { kind }]) => (kind === 'call' ? [] : id)),
    ...(open.length > 0 && {
      sideWrites: () => withdrawWritesById(invocation.at, open, 'It is no longer needed.'),
      work: (work) => ({ ...work, approvals: work.approvals?.filter((approval) => !open.includes(approval)) }),
    }),
  };
}

// A step that is tried again later is none: its result may be on its way.
const WAITS: ReadonlySet<EntryKind> = new Set(['sleep', 'signal', 'approval', 'call']);

/** `ctx.sleep` */
export async function sleep(invocation: Invocation, scope: Scope, name: string, duration: Duration): Promise<void> {
  invocation.checkCall('ctx.sleep', scope);
  const milliseconds = toMilliseconds('The time to sleep', duration);
  const identity = scope.enter(name);
  const { id } = identity;
  await invocation.runOperation(identity, () =>
    waited(invocation, scope, {
      ...{ id, kind: 'sleep', status: 'SLEEPING' },
      begin: async () => {
        const entry: Entry = {
          kind: 'sleep',
          until: invocation.now + milliseconds,
          order: invocation.journal.nextOrder(),
        };
        if (milliseconds > MAX_IN_PROCESS_WAIT_MS || milliseconds >= invocation.lifetime.remainingMs) return entry;
        await invocation.runActive(async () => {
          await invocation.runtime.clock.sleep(milliseconds);
          await invocation.record({ entries: [[id, { ...entry, value: undefined }]] });
        });
        return invocation.journal.entry(id);
      },
    }),
  );
}

/** `ctx.waitForSignal` */
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
    waited(invocation, scope, {
      ...{ id: identity.id, kind: 'signal', status: 'WAITING_FOR_SIGNAL' },
      begin: async () => {
        // It may have come before anybody waited for it.
        const { cursor = 0 } = invocation.journal.get(CURSOR_ID) ?? {};
        if (invocation.writer.seenWake > cursor) invocation.pendingWaits.checkOutcomesSoon();
        return {
          ...{ kind: 'signal', signal: name, order: invocation.journal.nextOrder() },
          ...(milliseconds !== undefined && { until: invocation.now + milliseconds }),
        };
      },
    }),
  );
  if (Object.hasOwn(entry, 'error')) throw entry.error;
  // Each time anew: what a schema makes of a value need not be a value that can be kept.
  return entry.unchecked ? validate(`Signal "${name}"`, invocation.agent.signals?.[name], entry.value) : entry.value;
}

// How long a parent relies on being told of the end of its child.
const CHECK_MS = 86_400_000;

/** `ctx.call` */
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
    const given = canonicalJson(encode(input, { root: `input of ${name}`, types: at.types }));
    const entry = await waited(invocation, scope, {
      ...{ id, kind: 'call', status: 'WAITING_FOR_SIGNAL', hash: shortHash(`${name}\n${given}`) },
      begin: async () => {
        const child = options.id ?? childId(invocation, id);
        const { version } = invocation.writer.loaded.record;
        const { owner } = invocation.writer.loaded.head.meta;
        const parent = { run: at.run, version };
        const accepted = typeof agent === 'string' ? input : await agent.parseInput(input);
        const { isNew } = await invocation.runStorageCall(() =>
          startRun(invocation.runtime, {
            ...{ agent: name, input: accepted, id: child, parent, owner, parentWaits: true },
            ...(typeof agent === 'string' && { unchecked: true }),
          }),
        );
        // One that was started before may have ended before.
        if (!isNew) invocation.pendingWaits.checkOutcomesSoon();
        const existed = !isNew && { existed: true as const };
        return {
          kind: 'call',
          hash: shortHash(`${name}\n${given}`),
          child,
          ...existed,
          checkAt: invocation.now + CHECK_MS,
          order: invocation.journal.nextOrder(),
        };
      },
    });
    if (!Object.hasOwn(entry, 'error')) return entry.value as Result;
    const message = `Run "${entry.child}" of agent "${name}" failed: ${String(entry.error)}`;
    const error = new WaitstateError('RUN_FAILED', message, { scope: 'step', cause: entry.error });
    invocation.failedAt.set(error, id);
    throw error;
  });
}

/** An id for a child that is the same whenever this place of the run is replayed. */
function childId({ at, work }: Invocation, id: string): string {
  const epoch = work.epoch ? `.${work.epoch}` : '';
  const readable = `${at.run}.${id}${epoch}`;
  return encodeURIComponent(readable).length <= MAX_ID_BYTES ? readable : `child.${shortHash(readable)}`;
}
