import type { LoadedCheckpoint, RunContext } from '../../checkpoints/engine.ts';
import { decodeResults } from '../../checkpoints/engine.ts';
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
import { type Entry, hasSettled } from '../journal/entries.ts';
import { NO_WORK, suspendedWork } from '../wake/work.ts';
import { checkIsRunning, type RemoteChange, type RemoteSave, saveRemotely } from './save.ts';

/** What a run waits for from now on. */
interface Wait {
  readonly id: string;
  readonly entry: Entry;
  readonly sideWrites?: readonly Write[];
}

/** A run that was suspended, or that goes on because what it waits for was there already. */
export interface SuspendedRun {
  readonly loaded: LoadedCheckpoint;
  /** The wait in the journal, and the approval where it is one. */
  readonly wait: string;
  readonly approval?: string | undefined;
}

// Where waits are in the journal, apart from the results of tools.
const APPROVAL = 'approval/';
const SIGNAL = 'signal/';

/** Whether a result of a tool may be kept under this id. */
export const isToolId = (id: string): boolean =>
  id !== '' && id.length <= 256 && id.isWellFormed() && ![APPROVAL, SIGNAL, '@'].some((taken) => id.startsWith(taken));

/** Saves, asks people and suspends the run until they have decided, in one transaction. */
export async function requestApprovalRemotely(
  at: RunContext,
  save: RemoteSave,
  { name, request }: { readonly name: string; readonly request: ApprovalRequest },
): Promise<SuspendedRun> {
  checkApprovalRequest(request);
  return suspend(at, save, 'WAITING_FOR_APPROVAL', async (loaded, journal) => {
    const agent = save.agent ?? loaded.head.meta.agent;
    if (agent === undefined)
      throw new WaitstateError(
        'INVALID_INPUT',
        `Run "${at.run}" has no agent, so nobody could be told to go on with it. Pass \`agent\`.`,
      );
    const id = freeId(journal, APPROVAL + name);
    const approval = toApprovalId(id.slice(APPROVAL.length), { rewinds: loaded.head.meta.work?.rewinds, ask: 1 });
    return {
      id,
      entry: { kind: 'approval', approval, ask: 1, order: nextOrder(journal) },
      sideWrites: await createApprovalWrites(at, loaded.cipher, approval, request, { agent, name, ask: 1 }),
    };
  });
}

/** Saves, and suspends the run until a signal comes, in one transaction; one that has come is used at once. */
export async function waitForSignalRemotely(
  at: RunContext,
  save: RemoteSave,
  { name, timeout }: { readonly name: string; readonly timeout?: Duration | undefined },
): Promise<SuspendedRun> {
  const until = timeout === undefined ? undefined : at.now() + toMilliseconds('`timeout`', timeout);
  return suspend(at, save, 'WAITING_FOR_SIGNAL', async (_, journal) => ({
    id: freeId(journal, SIGNAL + name),
    entry: { kind: 'signal', signal: name, order: nextOrder(journal), ...(until !== undefined && { until }) },
  }));
}

async function suspend(
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
    return suspension(at, before, status, journal, wait);
  });
  // A request that had been answered before begins no wait: the newest one is what it began.
  const [id, entry] = wait ? [wait.id, wait.entry] : newestWait(readJournal(at, loaded));
  return { loaded: loaded, wait: id, approval: entry?.approval };
}

async function suspension(
  at: RunContext,
  loaded: LoadedCheckpoint,
  status: Status,
  journal: JournalEntries,
  { id, entry, sideWrites = [] }: Wait,
): Promise<RemoteChange> {
  const waits = new Map([...pendingWaits(journal), [id, entry]]);
  const seen = await readOutcomes(at, loaded.cipher, journal, waits, loaded.head.meta.work?.wake ?? 0);
  const settled = settle(waits, seen.outcomes);
  const { entries } = settled;
  const cursor = seen.cursorAfter(settled);
  const asked = entry.approval === undefined ? [] : [entry.approval];
  const isOver = entries.size > 0;
  return {
    entries: [[id, entry], ...entries, ...(cursor ? [cursor] : [])],
    status: isOver ? undefined : status,
    sideWrites: sideWrites,
    work: (there) => {
      const open = [...(there.approvals ?? []), ...asked];
      const work = { ...there, approvals: open.length > 0 ? open : undefined };
      return isOver ? work : suspendedWork(work, dueAt(waits, work.deadline));
    },
  };
}

/** When somebody must look at a run with these waits. */
const dueAt = (waits: JournalEntries, deadline = Infinity): number =>
  Math.min(deadline, ...[...waits.values()].map(({ until = Infinity }) => until));

/**
 * Lets a claimed run lie down again that was woken by something it does not wait for. Says whether it does: it does not
 * when there is something to do, or something came meanwhile; then it is to be claimed once more.
 */
export async function suspendAgain(
  at: RunContext,
  before: LoadedCheckpoint,
  { loaded, seenWake }: ClaimedRun,
): Promise<'suspended' | 'resumable' | 'woken'> {
  const { status } = before.record.meta;
  const waits = pendingWaits(readJournal(at, loaded));
  const isOver = waits.size === 0 || waits.size < pendingWaits(readJournal(at, before)).size;
  if (!isWaiting(status) || isOver || before.head.meta.status === 'ENDING') return 'resumable';
  try {
    await appendEntries(at, loaded, {
      status,
      head: ({ work = NO_WORK }) => {
        if (work.wake !== seenWake) throw new Woken();
        return { work: suspendedWork(work, dueAt(waits, work.deadline)) };
      },
    });
    return 'suspended';
  } catch (error) {
    if (error instanceof Woken) return 'woken';
    throw error;
  }
}

class Woken extends Error {}

/** The journal of a run by identity. */
export type JournalEntries = ReadonlyMap<string, Entry>;

export const readJournal = (at: RunContext, loaded: LoadedCheckpoint): JournalEntries =>
  new Map(Object.entries(decodeResults(at, loaded) as Record<string, Entry>));

const WAITS: ReadonlySet<unknown> = new Set(['approval', 'signal', 'sleep', 'call'] satisfies Entry['kind'][]);

/** What a run still waits for. */
export const pendingWaits = (journal: JournalEntries): JournalEntries =>
  new Map([...journal].filter(([id, entry]) => !id.startsWith('@') && WAITS.has(entry?.kind) && !hasSettled(entry)));

/** A name that no operation of the run has: `refund`, `refund#2`. */
function freeId(journal: JournalEntries, name: string): string {
  for (let count = 1; ; count++) {
    const id = count === 1 ? name : `${name}#${count}`;
    if (!journal.has(id)) return id;
  }
}

const nextOrder = (journal: JournalEntries): number =>
  1 + Math.max(0, ...[...journal.values()].map((entry) => entry?.order ?? 0));

const newestWait = (journal: JournalEntries): readonly [id: string, entry: Entry | undefined] =>
  [...journal].toSorted(([, a], [, b]) => (b?.order ?? 0) - (a?.order ?? 0))[0] ?? ['', undefined];
