import { decodeResults, type LoadedCheckpoint, type RunContext } from '../../checkpoints/engine.ts';
import { type ApprovalRequest, checkApprovalRequest } from '../../core/approval.ts';
import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { WaitstateError } from '../../core/errors.ts';
import { isWaiting, type Status } from '../../core/status.ts';
import type { Write } from '../../storage/ports.ts';
import { createApprovalWrites, toApprovalId } from '../approvals/approval-records.ts';
import type { ClaimedRun } from '../invocation/claim.ts';
import { readOutcomes } from '../invocation/read-outcomes.ts';
import { settle } from '../invocation/settle.ts';
import { appendEntries } from '../journal/append-entries.ts';
import { WAITS_LABEL } from '../journal/checkpoint-labels.ts';
import { type Entry, hasSettled, waitName } from '../journal/entries.ts';
import { joinNames } from '../journal/join-names.ts';
import { NO_WORK, suspendedWork } from '../wake/work.ts';
import { checkIsRunning, type RemoteChange, type RemoteSave, saveRemotely } from './save.ts';

/** A wait that the run starts. */
interface Wait {
  readonly id: string;
  readonly entry: Entry;
  readonly sideWrites?: readonly Write[];
}

/** A run that was suspended, or that stays RUNNING because its wait is already settled. */
export interface SuspendedRun {
  readonly loaded: LoadedCheckpoint;
  /** The id of the wait in the journal. */
  readonly wait: string;
  /** The id of the approval, if the run waits for one. */
  readonly approval?: string | undefined;
  /** The id of the child run, if the run waits for one. */
  readonly child?: string | undefined;
}

// Prefixes of waits in the journal, which separate them from tool results.
const APPROVAL_ID_PREFIX = 'approval/';
const SIGNAL_ID_PREFIX = 'signal/';
const SLEEP_ID_PREFIX = 'sleep/';
export const CALL_ID_PREFIX = 'call/';
/** How the ids begin that no tool result may have. */
export const RESERVED_PREFIXES = ['@', APPROVAL_ID_PREFIX, SIGNAL_ID_PREFIX, SLEEP_ID_PREFIX, CALL_ID_PREFIX] as const;

/** Whether a tool result may have this id. */
export const isToolId = (id: string): boolean =>
  id !== '' && id.length <= 256 && id.isWellFormed() && !RESERVED_PREFIXES.some((reserved) => id.startsWith(reserved));

/** Saves, requests an approval and suspends the run until it is decided, in one transaction. */
export async function requestApprovalRemotely(
  at: RunContext,
  save: RemoteSave,
  { name, request }: { readonly name: string; readonly request: ApprovalRequest },
): Promise<SuspendedRun> {
  checkApprovalRequest(request);
  return saveAndSuspend(at, save, 'WAITING_FOR_APPROVAL', async (loaded, journal) => {
    const { agent = loaded.head.meta.agent } = save;
    const { requestedBy } = loaded.head.meta;
    if (agent === undefined)
      throw new WaitstateError(
        'INVALID_INPUT',
        `Run "${at.run}" has no agent, so it could not be delivered after the decision. Pass \`agent\`.`,
      );
    const id = unusedId(journal, APPROVAL_ID_PREFIX + name);
    const approval = toApprovalId(id.slice(APPROVAL_ID_PREFIX.length), {
      rewinds: loaded.head.meta.work?.rewinds,
      requestNumber: 1,
    });
    return {
      id,
      entry: {
        kind: 'approval',
        approval,
        requestNumber: 1,
        order: nextOrder(journal),
        ...(request.answerSchema && { question: true }),
      },
      sideWrites: await createApprovalWrites(at, loaded.cipher, approval, request, {
        agent,
        name,
        requestNumber: 1,
        requestedBy,
      }),
    };
  });
}

/**
 * Saves and suspends the run until a signal arrives, in one transaction; a signal that has arrived is used immediately.
 */
export async function waitForSignalRemotely(
  at: RunContext,
  save: RemoteSave,
  { name, timeout }: { readonly name: string; readonly timeout?: Duration | undefined },
): Promise<SuspendedRun> {
  const until = timeout === undefined ? undefined : at.now() + toMilliseconds('`timeout`', timeout);
  return saveAndSuspend(at, save, 'WAITING_FOR_SIGNAL', async (_, journal) => ({
    id: unusedId(journal, SIGNAL_ID_PREFIX + name),
    entry: { kind: 'signal', signal: name, order: nextOrder(journal), ...(until !== undefined && { until }) },
  }));
}

/** Saves and suspends the run for a time, in one transaction. */
export async function sleepRemotely(
  at: RunContext,
  save: RemoteSave,
  { name, duration }: { readonly name: string; readonly duration: Duration },
): Promise<SuspendedRun> {
  const until = at.now() + toMilliseconds('`duration`', duration);
  return saveAndSuspend(at, save, 'SLEEPING', async (_, journal) => ({
    id: unusedId(journal, SLEEP_ID_PREFIX + name),
    entry: { kind: 'sleep', until, order: nextOrder(journal) },
  }));
}

/** Saves, starts a wait and suspends the run, in one transaction. `begin` is called only on the expected version. */
export async function saveAndSuspend(
  at: RunContext,
  save: RemoteSave,
  status: Status,
  begin: (loaded: LoadedCheckpoint, journal: JournalEntries) => Promise<Wait>,
): Promise<SuspendedRun> {
  let wait: Wait | undefined;
  const loaded = await saveRemotely(at, save, async (before) => {
    checkIsRunning(at, before);
    const journal = readJournal(at, before);
    wait = await begin(before, journal);
    return toSuspendChange(at, before, status, journal, wait);
  });
  // A repeated request starts no wait: the newest wait is the one that the first request started.
  const [id, entry] = wait ? [wait.id, wait.entry] : newestWait(readJournal(at, loaded));
  return {
    loaded,
    wait: id,
    approval: entry?.kind === 'approval' ? entry.approval : undefined,
    child: entry?.kind === 'call' ? entry.child : undefined,
  };
}

async function toSuspendChange(
  at: RunContext,
  loaded: LoadedCheckpoint,
  status: Status,
  journal: JournalEntries,
  { id, entry, sideWrites = [] }: Wait,
): Promise<RemoteChange> {
  const waits = new Map([...pendingWaits(journal), [id, entry]]);
  const { outcomes, cursorAfter } = await readOutcomes(
    at,
    loaded.cipher,
    journal,
    waits,
    loaded.head.meta.work?.eventCount ?? 0,
  );
  const settled = settle(waits, outcomes);
  const { entries } = settled;
  const cursor = cursorAfter(settled);
  const newApprovals = entry.kind === 'approval' ? [entry.approval] : [];
  const isSettled = entries.size > 0;
  const names = waitNames(waits);
  return {
    entries: [[id, entry], ...entries, ...(cursor ? [cursor] : [])],
    status: isSettled ? undefined : status,
    sideWrites,
    waits: isSettled ? undefined : joinNames(names),
    work: (current) => {
      const approvals = [...(current.approvals ?? []), ...newApprovals];
      const work = { ...current, approvals: approvals.length > 0 ? approvals : undefined };
      return isSettled ? work : suspendedWork(work, dueAt(at, waits, work.deadline), names);
    },
  };
}

/** The waits of a run by kind and name. The prefix of their ids says the kind, too. */
const waitNames = (waits: JournalEntries): readonly string[] =>
  [...waits].map(([id, entry]) => waitName(id.replace(/^(approval|signal|sleep|call)\//, ''), entry));

/** When a run with these waits is due: at its first timeout, at its deadline, or when a child run must be checked. */
const dueAt = (at: RunContext, waits: JournalEntries, deadline = Infinity): number =>
  Math.min(deadline, ...[...waits.values()].map((entry) => waitEndsAt(entry, at.now())));

// A child wakes its parent when it ends. The parent also checks on it after this time, in case the event was lost.
export const CHILD_CHECK_MS = 86_400_000;

function waitEndsAt(entry: Entry, now: number): number {
  if (entry.kind === 'call')
    return entry.checkAt !== undefined && entry.checkAt <= now ? now + CHILD_CHECK_MS : (entry.checkAt ?? Infinity);
  return 'until' in entry ? (entry.until ?? Infinity) : Infinity;
}

/**
 * Suspends a claimed run again that was woken by an event it does not wait for. Returns `suspended`; `resumable` when a
 * wait has settled, so that the run must be invoked; or `woken` when another event arrived and it must be claimed
 * again.
 */
export async function suspendAgain(
  at: RunContext,
  { loaded, before, seenEventCount }: ClaimedRun,
): Promise<'suspended' | 'resumable' | 'woken'> {
  const { status } = before.record.meta;
  const waits = pendingWaits(readJournal(at, loaded));
  const names = waitNames(waits);
  const hasSettledWait = waits.size === 0 || waits.size < pendingWaits(readJournal(at, before)).size;
  if (!isWaiting(status) || hasSettledWait || before.head.meta.status === 'ENDING') return 'resumable';
  try {
    await appendEntries(at, loaded, {
      status,
      labels: { [WAITS_LABEL]: joinNames(names) },
      head: ({ work = NO_WORK }) => {
        if (work.eventCount !== seenEventCount) throw new Woken();
        return { work: suspendedWork(work, dueAt(at, waits, work.deadline), names) };
      },
    });
    return 'suspended';
  } catch (error) {
    if (error instanceof Woken) return 'woken';
    throw error;
  }
}

class Woken extends Error {}

/** The journal entries of a run, by operation id. */
export type JournalEntries = ReadonlyMap<string, Entry>;

/** Decodes the journal of a loaded checkpoint. */
export const readJournal = (at: RunContext, loaded: LoadedCheckpoint): JournalEntries =>
  new Map(Object.entries(decodeResults(at, loaded) as Record<string, Entry>));

const WAIT_KINDS: ReadonlySet<unknown> = new Set(['approval', 'signal', 'sleep', 'call'] satisfies Entry['kind'][]);

/** The waits of a run that have not settled. */
export const pendingWaits = (journal: JournalEntries): JournalEntries =>
  new Map(
    [...journal].filter(([id, entry]) => !id.startsWith('@') && WAIT_KINDS.has(entry?.kind) && !hasSettled(entry)),
  );

/** The first unused id for a name: `refund`, then `refund#2`. */
export function unusedId(journal: JournalEntries, name: string): string {
  for (let count = 1; ; count++) {
    const id = count === 1 ? name : `${name}#${count}`;
    if (!journal.has(id)) return id;
  }
}

export const nextOrder = (journal: JournalEntries): number =>
  1 + Math.max(0, ...[...journal.values()].map((entry) => entry?.order ?? 0));

const newestWait = (journal: JournalEntries): readonly [id: string, entry: Entry | undefined] =>
  [...journal].toSorted(([, a], [, b]) => (b?.order ?? 0) - (a?.order ?? 0))[0] ?? ['', undefined];
