import {
  currentState,
  decodeResults,
  EMPTY_CONTENT,
  encodeValues,
  type HeadMeta,
  hasNoState,
  headRecord,
  history,
  type LoadedCheckpoint,
  loadCheckpoint,
  MAX_LEASED_DUE_MS,
  type RunContext,
  type RuntimeMeta,
  readHead,
  tryCommit,
} from '../../checkpoints/engine.ts';
import { type Duration, toMilliseconds, toPositiveMs } from '../../core/duration.ts';
import { isWaitstateError, RUN_GONE_CODES, WaitstateError } from '../../core/errors.ts';
import { hasEnded, isWaiting } from '../../core/status.ts';
import { HEAD_KEY } from '../../storage/keys.ts';
import { isClockWrong } from '../clock-difference.ts';
import { endRun, timeOutRun } from '../control/end-run.ts';
import { isPaused } from '../control/pause-agent.ts';
import type { AgentDefinition } from '../definition/agent-definition.ts';
import { toError } from '../definition/agent-errors.ts';
import { validate } from '../definition/standard-schema.ts';
import { appendEntries } from '../journal/append-entries.ts';
import { type Entry, entryOf, hasSettled, type InputEntry, lastSeq } from '../journal/entries.ts';
import { lastDecision } from '../journal/last-decision.ts';
import { adoptEarlySignals } from '../wake/early-signals.ts';
import { NO_WORK, redeliveryDelayMs, timesOutAt } from '../wake/work.ts';
import { readOutcomes } from './read-outcomes.ts';
import { settle } from './settle.ts';

/** The invocation that wants to claim a run. */
export interface Claimant {
  /** The id of the invocation. A retry with the same id takes over the lease of the earlier attempt. */
  readonly by: string;
  /** When the invocation has to stop, by the clock of its process. */
  readonly until: number;
  /** The length of a lease that is renewed, for a process that may die long before `until`. @default until then */
  readonly lease?: Duration;
}

/** A run that this invocation has claimed. */
export interface ClaimedRun {
  readonly loaded: LoadedCheckpoint;
  /** The checkpoint that the claim follows, with the head before it. */
  readonly before: LoadedCheckpoint;
  /** The journal of the run, by identity. */
  readonly journal: Map<string, Entry>;
  /** The waits that this claim settled. */
  readonly settled: ReadonlySet<string>;
  /** The number of the newest event that was read. */
  readonly seenEventCount: number;
  /** When the invocation has to stop, by the clock of its process. */
  readonly until: number;
}

/** Why a run was not claimed. */
export type Skipped = 'ended' | 'waiting' | 'taken' | 'paused' | 'parked' | 'gone' | 'other agent' | 'wrong clock';

/** How much longer a lease lasts than the function, because the clock of the storage is not known exactly. */
export const LEASE_GRACE_MS = 2_000;

/**
 * Claims a run in one transaction: checkpoint n+1 of kind `claim`, and the head with a lease. It fences the invocation
 * that ran the run before, whose next write fails. Waits whose outcome is known are settled in the same checkpoint.
 */
export async function claim(
  at: RunContext,
  agent: AgentDefinition<never, unknown, unknown>,
  claimant: Claimant,
): Promise<ClaimedRun | Skipped> {
  try {
    for (;;) {
      const loaded = await loadCheckpoint(at);
      // Known by now, because the storage has responded.
      if (isClockWrong(at)) return 'wrong clock';
      const { work = NO_WORK } = loaded.head.meta;
      const { agent: agentName = agent.name } = loaded.head.meta;
      if (agentName !== agent.name) return 'other agent';
      const skipped = skipReason(loaded.head.meta, claimant, at.now());
      if (skipped) return skipped;
      if (await isPaused(at, agent.name)) return 'paused';
      if (timesOutAt(loaded.head.meta) <= at.now()) {
        await timeOutRun(at);
        continue;
      }
      if (work.claimedVersion === undefined && (await adoptEarlySignals(at)) > 0) continue;
      const claims = loaded.record.version > (work.claimedVersion ?? 0) ? 1 : (work.claims ?? 0) + 1;
      if (claims > (agent.maxClaimsWithoutProgress ?? 5)) {
        await endRun(at, { ending: 'FAILED', error: await claimsExhausted(at, claims - 1, loaded), forceEnd: true });
        continue;
      }
      try {
        return await commitClaim(at, agent, loaded, claimant, claims);
      } catch (error) {
        if (!(error instanceof CannotStart)) throw error;
        await endRun(at, { ending: 'FAILED', error: toError(error.cause), forceEnd: true });
      }
    }
  } catch (error) {
    if (isWaitstateError(error, 'STALE_VERSION')) return 'taken';
    // The run ended while early signals were delivered to it.
    if (isWaitstateError(error, 'RUN_ENDED')) return 'ended';
    if (isWaitstateError(error, ...RUN_GONE_CODES)) return 'gone';
    if (isWaitstateError(error, ...PARKING_CODES)) return park(at, error);
    throw error;
  }
}

/** Errors that another deployment can fix. */
const PARKING_CODES = [
  'SCHEMA_TOO_NEW',
  'SCHEMA_INVALID',
  'MIGRATION_FAILED',
  'KEY_UNAVAILABLE',
  'FORMAT_TOO_NEW',
] as const;

function skipReason({ status, work }: HeadMeta, { by }: Claimant, now: number): Skipped | undefined {
  if (hasEnded(status)) return 'ended';
  const isTaken = work?.lease !== undefined && work.lease.until > now && work.lease.by !== by;
  if (isTaken) return 'taken';
  return (isWaiting(status) || work?.suspended) && (work?.dueAt ?? Infinity) > now ? 'waiting' : undefined;
}

async function commitClaim(
  at: RunContext,
  agent: AgentDefinition<never, unknown, unknown>,
  loaded: LoadedCheckpoint,
  { by, until, lease: renewed }: Claimant,
  claims: number,
): Promise<ClaimedRun> {
  const journal = new Map(Object.entries(decodeResults(at, loaded) as Record<string, Entry>));
  const isEnding = loaded.head.meta.status === 'ENDING';
  const waits = new Map([...journal].filter(([id, entry]) => !isEnding && !id.startsWith('@') && !hasSettled(entry)));
  const seenEventCount = loaded.head.meta.work?.eventCount ?? 0;
  const read = await readOutcomes(at, loaded.cipher, journal, waits, seenEventCount);
  const settledWaits = settle(waits, read.outcomes);
  const cursor = read.cursorAfter(settledWaits);
  const firstSeq = lastSeq(journal) + 1;
  const settledEntries = [...settledWaits.entries].map(
    ([id, entry], i) => [id, hasSettled(entry) ? { ...entry, seq: firstSeq + i } : entry] as const,
  );
  const entries = new Map([...settledEntries, ...(cursor ? [cursor] : [])]);
  const input = isEnding ? undefined : await validateInput(agent, entryOf(journal, INPUT_ID, 'input'));
  if (input) journal.set(INPUT_ID, input);
  const initial = agent.state && hasNoState(loaded) ? await initialState(agent, journal) : undefined;
  // Throws if this code cannot read or migrate the state, before the run is claimed.
  if (!initial) currentState(at, loaded);
  const version = loaded.record.version + 1;
  const renewedMs = toPositiveMs('`lease`', renewed);
  // Other processes compare the lease with the storage's clock, and this process compares `until` with its own.
  const stopsAt = until - (at.records.clockAheadMs() ?? 0);
  const lease = { by, until: renewedMs === undefined ? stopsAt + LEASE_GRACE_MS : at.now() + renewedMs };
  const work = (current: RuntimeMeta): RuntimeMeta => {
    const timeout = timeoutFields(agent, current, loaded.head.meta.createdAt);
    const deadline = isEnding ? Infinity : (timeout.deadline ?? Infinity);
    const latest = Math.min(lease.until, at.now() + MAX_LEASED_DUE_MS, deadline);
    // Most invocations end before the run is due, so an earlier due time stays: changing it costs a write to the index.
    const dueAt = current.dueAt !== undefined && current.dueAt > at.now() ? Math.min(current.dueAt, latest) : latest;
    return {
      ...current,
      ...timeout,
      parkedReason: undefined,
      suspended: undefined,
      waits: undefined,
      decision: lastDecision(settledEntries) ?? current.decision,
      deliveries: 0,
      lease,
      dueAt,
      claims,
      claimedVersion: version,
    };
  };
  await replaceUnsupported(at, loaded, entries);
  if (input) entries.set(INPUT_ID, input);
  const claimed = await appendEntries(at, loaded, {
    kind: 'claim',
    status: isEnding ? 'ENDING' : 'RUNNING',
    entries,
    state: initial,
    head: (current) => ({ work: work(current.work ?? NO_WORK) }),
  }).catch((error) => {
    throw (initial || input) && isWaitstateError(error, 'UNSUPPORTED_VALUE') ? new CannotStart(error) : error;
  });
  for (const [id, entry] of entries) journal.set(id, entry);
  const settled = new Set(settledWaits.entries.keys());
  return { loaded: claimed, before: loaded, journal, settled, seenEventCount, until };
}

/** Turns outside values that cannot be stored into errors of the operations that waited, so that the claim succeeds. */
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

/** The timeout and deadline of a run. A run that its agent did not start, such as a child, gets them when claimed. */
function timeoutFields(
  { timeout }: AgentDefinition<never, unknown, unknown>,
  { claimedVersion, deadline, timeoutMs }: RuntimeMeta,
  createdAt: number,
): Pick<RuntimeMeta, 'deadline' | 'timeoutMs'> {
  if (claimedVersion !== undefined || timeoutMs !== undefined || !timeout) return { deadline, timeoutMs };
  const durationMs = toMilliseconds('`timeout`', timeout);
  return { timeoutMs: durationMs, deadline: createdAt + durationMs };
}

const INPUT_ID = '@input';

/** The input after the agent's schema has parsed it; undefined if it was parsed when the run was started. */
async function validateInput(
  { name, input }: AgentDefinition<never, unknown, unknown>,
  entry: InputEntry | undefined,
): Promise<InputEntry | undefined> {
  if (!entry?.unchecked || !input) return undefined;
  try {
    return { kind: 'input', value: await validate(`The input of agent "${name}"`, input, entry.value) };
  } catch (error) {
    throw new CannotStart(error);
  }
}

/** The first state of a run. It is made at the first claim, because a run can be started without the agent's code. */
async function initialState(
  agent: AgentDefinition<never, unknown, unknown>,
  journal: ReadonlyMap<string, Entry>,
): Promise<{ value: unknown }> {
  try {
    return { value: await agent.state?.initial(journal.get(INPUT_ID)?.value as never) };
  } catch (error) {
    throw new CannotStart(error);
  }
}

/** The agent cannot start with the input of the run. */
class CannotStart extends Error {
  constructor(cause: unknown) {
    super('The run cannot start with its input.', { cause });
  }
}

/** Parks a run that this code cannot run. It is delivered again with growing delays, in case other code is deployed. */
async function park(at: RunContext, error: WaitstateError): Promise<Skipped> {
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  if (!stored) return 'gone';
  const { meta, revision } = readHead(stored);
  const deliveries = (meta.work?.deliveries ?? 0) + 1;
  const dueAt = at.now() + redeliveryDelayMs(deliveries);
  const work = { ...NO_WORK, ...meta.work, parkedReason: error.message.slice(0, 500), deliveries, dueAt };
  // If the head has changed in the meantime, the run is delivered again anyway.
  await tryCommit(at.records, [{ put: headRecord(at.partition, { ...meta, work }).stored, when: { revision } }]);
  return 'parked';
}

async function claimsExhausted(at: RunContext, claims: number, { record }: LoadedCheckpoint): Promise<WaitstateError> {
  let lastStep = '';
  for await (const { step } of history(at, { newestFirst: true })) {
    if (step === undefined) continue;
    lastStep = ` ("${step}")`;
    break;
  }
  return new WaitstateError(
    'RUN_FAILED',
    `Run "${at.run}" was invoked ${claims} times without getting past checkpoint ${record.version}${lastStep}: it crashes, hangs, or takes longer than the timeout of its function. Fix the cause, then \`retry\` the run.`,
    { scope: 'run' },
  );
}
