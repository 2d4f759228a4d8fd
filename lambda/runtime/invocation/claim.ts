import type { HeadMeta, LoadedCheckpoint, RunContext, RuntimeMeta } from '../../checkpoints/engine.ts';
import {
  currentState,
  decodeResults,
  EMPTY_CONTENT,
  encodeValues,
  hasNoState,
  headRecord,
  history,
  loadCheckpoint,
  MAX_LEASED_DUE_MS,
  readHead,
  tryCommit,
} from '../../checkpoints/engine.ts';
import { toMilliseconds } from '../../core/duration.ts';
import { isWaitstateError, RUN_GONE_CODES, WaitstateError } from '../../core/errors.ts';
import { hasEnded, isWaiting } from '../../core/status.ts';
import { HEAD_KEY } from '../../storage/keys.ts';
import { endRun } from '../control/end-run.ts';
import { isPaused } from '../control/pause-agent.ts';
import type { AgentDefinition } from '../definition/agent-definition.ts';
import { toError } from '../definition/agent-errors.ts';
import { validate } from '../definition/standard-schema.ts';
import { appendEntries } from '../journal/append-entries.ts';
import { type Entry, entryOf, hasSettled, type InputEntry, lastSeq } from '../journal/entries.ts';
import { adoptEarlySignals } from '../wake/early-signals.ts';
import { NO_WORK, redeliveryDelayMs, timesOutAt } from '../wake/work.ts';
import { readOutcomes } from './read-outcomes.ts';
import { settle } from './settle.ts';

/** Who wants to run a run, and until when that is possible. */
export interface Claimant {
  /** The id of the invocation: one that is tried again under its id takes its own lease over. */
  readonly by: string;
  readonly until: number;
  /** For a process that can die long before that: how long a lease lasts that it renews. @default until then */
  readonly leaseMs?: number;
}

/** A run that is this invocation's. */
export interface ClaimedRun {
  readonly loaded: LoadedCheckpoint;
  /** What the agent did, by identity. */
  readonly journal: Map<string, Entry>;
  /** The waits that this claim found over. */
  readonly settled: ReadonlySet<string>;
  /** The newest event that was looked at. */
  readonly seenWake: number;
  readonly until: number;
}

/** Why a run was not claimed. */
export type Skipped = 'ended' | 'waiting' | 'taken' | 'paused' | 'parked' | 'gone' | 'not its own';

// How much longer than the function a lease lasts: clocks differ.
const GRACE_MS = 2_000;

/**
 * Takes a run in one transaction: checkpoint n+1 of kind `claim`, and the head with a lease. Whoever ran it before loses
 * its next write. What its waits are about is settled in the same checkpoint.
 */
export async function claim(
  at: RunContext,
  agent: AgentDefinition<never, unknown, unknown>,
  claimant: Claimant,
): Promise<ClaimedRun | Skipped> {
  try {
    for (;;) {
      const loaded = await loadCheckpoint(at);
      const { work = NO_WORK } = loaded.head.meta;
      const { agent: of = agent.name } = loaded.head.meta;
      const aside = of === agent.name ? reasonToStepAside(loaded.head.meta, claimant, at.now()) : 'not its own';
      if (aside) return aside;
      if (await isPaused(at, agent.name)) return 'paused';
      if (timesOutAt(loaded.head.meta) <= at.now()) {
        await endRun(at, { ending: 'FAILED', error: timedOut(at.run) });
        continue;
      }
      if (work.claimed === undefined && (await adoptEarlySignals(at)) > 0) continue;
      const claims = loaded.record.version > (work.claimed ?? 0) ? 1 : (work.claims ?? 0) + 1;
      if (claims > (agent.maxAttempts ?? 5)) {
        await endRun(at, { ending: 'FAILED', error: await exhausted(at, claims - 1, loaded), forceEnd: true });
        continue;
      }
      try {
        return await take(at, agent, loaded, claimant, claims);
      } catch (error) {
        if (!(error instanceof NoFirstState)) throw error;
        await endRun(at, { ending: 'FAILED', error: toError(error.cause), forceEnd: true });
      }
    }
  } catch (error) {
    if (isWaitstateError(error, 'STALE_VERSION')) return 'taken';
    // While signals were handed to it.
    if (isWaitstateError(error, 'RUN_ENDED')) return 'ended';
    if (isWaitstateError(error, ...RUN_GONE_CODES)) return 'gone';
    if (isWaitstateError(error, ...PARKING)) return park(at, error);
    throw error;
  }
}

/** What another deployment can make good. */
const PARKING = ['SCHEMA_TOO_NEW', 'SCHEMA_INVALID', 'MIGRATION_FAILED', 'KEY_UNAVAILABLE', 'FORMAT_TOO_NEW'] as const;

function reasonToStepAside({ status, work }: HeadMeta, { by }: Claimant, now: number): Skipped | undefined {
  if (hasEnded(status)) return 'ended';
  const isTaken = work?.lease !== undefined && work.lease.until > now && work.lease.by !== by;
  if (isTaken) return 'taken';
  return (isWaiting(status) || work?.rests) && (work?.dueAt ?? Infinity) > now ? 'waiting' : undefined;
}

async function take(
  at: RunContext,
  agent: AgentDefinition<never, unknown, unknown>,
  loaded: LoadedCheckpoint,
  { by, until, leaseMs }: Claimant,
  claims: number,
): Promise<ClaimedRun> {
  const journal = new Map(Object.entries(decodeResults(at, loaded) as Record<string, Entry>));
  const ending = loaded.head.meta.status === 'ENDING';
  const waits = new Map([...journal].filter(([id, entry]) => !ending && !id.startsWith('@') && !hasSettled(entry)));
  const seen = await readOutcomes(at, loaded.cipher, journal, waits, loaded.head.meta.work?.wake ?? 0);
  const over = settle(waits, seen.outcomes);
  const cursor = seen.cursorAfter(over);
  const last = lastSeq(journal);
  const ended = [...over.entries].map(
    ([id, entry], i) => [id, hasSettled(entry) ? { ...entry, seq: last + 1 + i } : entry] as const,
  );
  const settled = new Map([...ended, ...(cursor ? [cursor] : [])]);
  const input = ending ? undefined : await checkedInput(agent, entryOf(journal, INPUT, 'input'));
  if (input) journal.set(INPUT, input);
  const first = agent.state && hasNoState(loaded) ? await firstState(agent, journal) : undefined;
  if (!first) currentState(at, loaded);
  const version = loaded.record.version + 1;
  const lease = { by, until: leaseMs === undefined ? until + GRACE_MS : at.now() + leaseMs };
  const work = (there: RuntimeMeta): RuntimeMeta => {
    const time = timeOf(agent, there, loaded.head.meta.createdAt);
    const end = Math.min(lease.until, at.now() + MAX_LEASED_DUE_MS, (ending ? undefined : time.deadline) ?? Infinity);
    // Most invocations are over before anybody looks: moving the run in the due list now would be paid for nothing.
    const dueAt = there.dueAt !== undefined && there.dueAt > at.now() ? Math.min(there.dueAt, end) : end;
    const taken = { parked: undefined, rests: undefined, deliveries: 0 };
    return { ...there, ...time, ...taken, lease, dueAt, claims, claimed: version };
  };
  await replaceUnsupported(at, loaded, settled);
  if (input) settled.set(INPUT, input);
  const claimed = await appendEntries(at, loaded, {
    kind: 'claim',
    status: ending ? 'ENDING' : 'RUNNING',
    entries: settled,
    state: first,
    head: (there) => ({ work: work(there.work ?? NO_WORK) }),
  }).catch((error) => {
    throw (first || input) && isWaitstateError(error, 'UNSUPPORTED_VALUE') ? new NoFirstState(error) : error;
  });
  for (const [id, entry] of settled) journal.set(id, entry);
  return {
    loaded: claimed,
    journal,
    settled: new Set(over.entries.keys()),
    seenWake: loaded.head.meta.work?.wake ?? 0,
    until,
  };
}

/** What came from outside and cannot be kept is the error of who waited for it, and not of every claim for ever. */
async function replaceUnsupported(
  at: RunContext,
  { cipher }: LoadedCheckpoint,
  entries: Map<string, Entry>,
): Promise<void> {
  for (const [id, entry] of [...entries]) {
    try {
      await encodeValues(at, cipher, EMPTY_CONTENT, { toolResults: { [id]: entry } });
    } catch (error) {
      if (!isWaitstateError(error, 'UNSUPPORTED_VALUE')) throw error;
      const { value: _value, decided: _decided, ...rest } = entry as Entry & { readonly decided?: unknown };
      entries.set(id, { ...rest, error } as Entry);
    }
  }
}

/** The time that a run has; one that was not started by its agent, such as a child, learns it when it is first claimed. */
function timeOf(
  { timeout }: AgentDefinition<never, unknown, unknown>,
  { claimed, deadline, timeoutMs }: RuntimeMeta,
  createdAt: number,
): Pick<RuntimeMeta, 'deadline' | 'timeoutMs'> {
  if (claimed !== undefined || timeoutMs !== undefined || !timeout) return { deadline, timeoutMs };
  const given = toMilliseconds('`timeout`', timeout);
  return { timeoutMs: given, deadline: createdAt + given };
}

const INPUT = '@input';

/** The input as the agent's schema makes it, where whoever started the run did not know that; undefined when it stays. */
async function checkedInput(
  { name, input }: AgentDefinition<never, unknown, unknown>,
  entry: InputEntry | undefined,
): Promise<InputEntry | undefined> {
  if (!entry?.unchecked || !input) return undefined;
  try {
    return { kind: 'input', value: await validate(`The input of agent "${name}"`, input, entry.value) };
  } catch (error) {
    throw new NoFirstState(error);
  }
}

/** The state that a run begins with; whoever started it did not need to know the agent's code. */
async function firstState(
  agent: AgentDefinition<never, unknown, unknown>,
  journal: ReadonlyMap<string, Entry>,
): Promise<{ value: unknown }> {
  try {
    return { value: await agent.state?.initial(journal.get(INPUT)?.value as never) };
  } catch (error) {
    throw new NoFirstState(error);
  }
}

/** The agent cannot begin with what a run was started with. */
class NoFirstState extends Error {
  constructor(cause: unknown) {
    super('The run cannot begin.', { cause });
  }
}

/** Leaves a run for other code, and asks for it again, later each time. */
async function park(at: RunContext, error: WaitstateError): Promise<Skipped> {
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  if (!stored) return 'gone';
  const { meta, revision } = readHead(stored);
  const deliveries = (meta.work?.deliveries ?? 0) + 1;
  const dueAt = at.now() + redeliveryDelayMs(deliveries);
  const work = { ...NO_WORK, ...meta.work, parked: error.message.slice(0, 500), deliveries, dueAt };
  // When somebody else has just written, it is looked at again anyway.
  await tryCommit(at.records, [{ put: headRecord(at.partition, { ...meta, work }).stored, when: { revision } }]);
  return 'parked';
}

const timedOut = (run: string): WaitstateError =>
  new WaitstateError('TIMED_OUT', `Run "${run}" took longer than its timeout.`, { scope: 'run' });

async function exhausted(at: RunContext, claims: number, { record }: LoadedCheckpoint): Promise<WaitstateError> {
  let after = '';
  for await (const { step } of history(at, { newestFirst: true })) {
    if (step === undefined) continue;
    after = ` ("${step}")`;
    break;
  }
  return new WaitstateError(
    'RUN_FAILED',
    `Run "${at.run}" was invoked ${claims} times without getting past checkpoint ${record.version}${after}: it crashes, hangs, or takes longer than its function may. Mend the cause, then \`retry\` it.`,
    { scope: 'run' },
  );
}
