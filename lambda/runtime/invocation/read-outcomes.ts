import type { RunCipher, RunContext } from '../../checkpoints/engine.ts';
import { loadCheckpoint, toCheckpoint } from '../../checkpoints/engine.ts';
import { isWaitstateError, RUN_GONE_CODES } from '../../core/errors.ts';
import { toPartition } from '../../core/ids.ts';
import { hasEnded } from '../../core/status.ts';
import { readApprovals } from '../approvals/approval-records.ts';
import { toDecision } from '../approvals/decision.ts';
import { CURSOR_ID, type Entry, entryOf, hasSettled, resultOrError } from '../journal/entries.ts';
import { EventLog, NO_EVENTS } from '../wake/events.ts';
import type { Outcomes, SettledWaits } from './settle.ts';

/** What was seen outside of the run, and how to remember which events were used. */
export interface OutcomesWithCursor {
  readonly outcomes: Outcomes;
  /** The entry to record with what used events; undefined when none was used. */
  cursorAfter(settled: SettledWaits): readonly [id: string, entry: Entry] | undefined;
}

/**
 * Reads what the waits of a run are about, up to the event that its head counted, and nothing when they are about nothing
 * outside. Who looks again and again passes the events that were read.
 */
export async function readOutcomes(
  at: RunContext,
  cipher: RunCipher,
  journal: ReadonlyMap<string, Entry>,
  waits: ReadonlyMap<string, Entry>,
  wake: number,
  log = new EventLog(),
): Promise<OutcomesWithCursor> {
  const entries = [...waits.values()];
  const { cursor = 0, value } = entryOf(journal, CURSOR_ID, 'cursor') ?? {};
  // Events after the cursor that were used before others which came earlier.
  const usedBefore = new Set((value ?? []) as readonly number[]);
  const isAboutEvents = entries.some(({ kind }) => kind === 'signal' || kind === 'call');
  const events = isAboutEvents ? await log.readBetween(at, cipher, cursor, wake) : NO_EVENTS;
  const signals = events.signals.filter(({ number }) => !usedBefore.has(number));
  const approvals = entries.flatMap((entry) =>
    entry.kind === 'approval' && entry.decided === undefined ? [entry.approval] : [],
  );
  const decisions = new Map<string, unknown>();
  for (const approval of approvals.length > 0 ? await readApprovals(at, approvals) : []) {
    const decision = toDecision(at, cipher, approval);
    if (decision) decisions.set(approval.id, decision);
  }
  const ended = new Set(events.childEnds.map(({ child }) => child));
  const children = new Map<string, Pick<Entry, 'value' | 'error'>>();
  for (const entry of entries) {
    if (entry.kind !== 'call') continue;
    const { child, existed, checkAt = Infinity } = entry;
    // A child that existed before the call may have ended without an event, and a deleted child never sends one.
    if (!existed && !ended.has(child) && checkAt > at.now()) continue;
    const end = await endOf(at, child);
    if (end) children.set(child, end);
  }
  return {
    outcomes: { now: at.now(), signals, decisions, children },
    cursorAfter(settled) {
      const over = childrenIn([...journal.values(), ...settled.entries.values()]);
      const now = childrenIn([...settled.entries.values()]);
      const usedNow = [
        ...settled.usedSignals,
        ...events.childEnds.flatMap(({ number, child }) => (now.has(child) ? number : [])),
      ];
      const unused = [
        ...signals.filter(({ number }) => !settled.usedSignals.has(number)),
        ...events.childEnds.filter(({ child }) => !over.has(child)),
      ];
      if (usedNow.length === 0) return undefined;
      const numbers = unused.map(({ number }) => number);
      return [CURSOR_ID, cursorEntry(numbers, new Set([...usedBefore, ...usedNow]), cursor)];
    },
  };
}

/** The children whose ends are known. */
const childrenIn = (entries: readonly Entry[]): ReadonlySet<string> =>
  new Set(entries.flatMap((entry) => (entry.kind === 'call' && hasSettled(entry) ? entry.child : [])));

/** Everything before the cursor was used; behind it, the numbers of those that were. */
function cursorEntry(unused: readonly number[], used: ReadonlySet<number>, cursor: number): Entry {
  const last = [...used].reduce((a, b) => Math.max(a, b), cursor);
  const before = unused.reduce((least, number) => Math.min(least, number - 1), last);
  return { kind: 'cursor', cursor: before, value: [...used].filter((number) => number > before) };
}

// Nobody will ever know how it ended: it was deleted, or what it gave cannot be read here.
const LOST_CHILD_CODES = [...RUN_GONE_CODES, 'INVALID_INPUT', 'DAMAGED'] as const;

/** How a child ended, if it did. */
async function endOf(at: RunContext, child: string): Promise<Pick<Entry, 'value' | 'error'> | undefined> {
  const there = { ...at, run: child, partition: toPartition(at.tenant, child), migrator: undefined };
  try {
    const loaded = await loadCheckpoint(there);
    if (!hasEnded(loaded.head.meta.status)) return undefined;
    return resultOrError(toCheckpoint(there, loaded));
  } catch (error) {
    if (isWaitstateError(error, ...LOST_CHILD_CODES)) return { error };
    throw error;
  }
}
