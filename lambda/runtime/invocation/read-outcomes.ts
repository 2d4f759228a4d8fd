import { loadCheckpoint, type RunCipher, type RunContext, toCheckpoint } from '../../checkpoints/engine.ts';
import { isWaitstateError, RUN_GONE_CODES } from '../../core/errors.ts';
import { toPartition } from '../../core/ids.ts';
import { hasEnded } from '../../core/status.ts';
import { CURSOR_ID, type Entry, entryOf, hasSettled, resultOrError } from '../journal/entries.ts';
import { EventLog, NO_EVENTS } from '../wake/events.ts';
import type { Outcomes, SettledWaits } from './settle.ts';

/** The outcomes that were read, and the entry that records which events were used. */
export interface OutcomesWithCursor {
  readonly outcomes: Outcomes;
  /** The entry to record together with the settled waits; undefined when they used no event. */
  cursorAfter(settled: SettledWaits): readonly [id: string, entry: Entry] | undefined;
}

/**
 * Reads the events, decisions and ends of child runs that can settle the waits of a run, up to the event with number
 * `lastEvent`. It reads only what the waits need. A caller that reads repeatedly passes its `log`, so that each event
 * is read once.
 */
export async function readOutcomes(
  at: RunContext,
  cipher: RunCipher,
  journal: ReadonlyMap<string, Entry>,
  waits: ReadonlyMap<string, Entry>,
  lastEvent: number,
  log = new EventLog(),
): Promise<OutcomesWithCursor> {
  const entries = [...waits.values()];
  const { cursor = 0, value } = entryOf(journal, CURSOR_ID, 'cursor') ?? {};
  // Events after the cursor that were used while earlier ones were not.
  const usedBefore = new Set((value ?? []) as readonly number[]);
  const needsEvents = entries.some(({ kind }) => kind === 'signal' || kind === 'call');
  const events = needsEvents ? await log.readBetween(at, cipher, cursor, lastEvent) : NO_EVENTS;
  const signals = events.signals.filter(({ number }) => !usedBefore.has(number));
  const approvals = entries.flatMap((entry) =>
    entry.kind === 'approval' && entry.decided === undefined ? [entry.approval] : [],
  );
  const decisions = await readDecisions(at, cipher, approvals);
  const ended = new Set(events.childEnds.map(({ child }) => child));
  const children = new Map<string, Pick<Entry, 'value' | 'error'>>();
  for (const entry of entries) {
    if (entry.kind !== 'call') continue;
    const { child, existed, checkAt = Infinity } = entry;
    // A child that existed before the call may have ended without an event, and a deleted child never sends one.
    if (!existed && !ended.has(child) && checkAt > at.now()) continue;
    const end = await readChildEnd(at, child);
    if (end) children.set(child, end);
  }
  return {
    outcomes: { now: at.now(), signals, decisions, children },
    cursorAfter(settled) {
      const settledNow = settledChildren([...settled.entries.values()]);
      const allSettled = settledChildren([...journal.values(), ...settled.entries.values()]);
      const usedNow = [
        ...settled.usedSignals,
        ...events.childEnds.flatMap(({ number, child }) => (settledNow.has(child) ? number : [])),
      ];
      const unused = [
        ...signals.filter(({ number }) => !settled.usedSignals.has(number)),
        ...events.childEnds.filter(({ child }) => !allSettled.has(child)),
      ];
      if (usedNow.length === 0) return undefined;
      const numbers = unused.map(({ number }) => number);
      return [CURSOR_ID, cursorEntry(numbers, new Set([...usedBefore, ...usedNow]), cursor)];
    },
  };
}

async function readDecisions(
  at: RunContext,
  cipher: RunCipher,
  approvals: readonly string[],
): Promise<ReadonlyMap<string, unknown>> {
  if (approvals.length === 0) return new Map();
  const { readDecisions: read } = await import('../approvals/decision.ts');
  return read(at, cipher, approvals);
}

/** The child runs whose end is recorded. */
const settledChildren = (entries: readonly Entry[]): ReadonlySet<string> =>
  new Set(entries.flatMap((entry) => (entry.kind === 'call' && hasSettled(entry) ? entry.child : [])));

/** All events up to the cursor were used; the value lists the used events after it. */
function cursorEntry(unused: readonly number[], used: ReadonlySet<number>, cursor: number): Entry {
  const last = [...used].reduce((a, b) => Math.max(a, b), cursor);
  const newCursor = unused.reduce((least, number) => Math.min(least, number - 1), last);
  return { kind: 'cursor', cursor: newCursor, value: [...used].filter((number) => number > newCursor) };
}

// With these errors the end of a child run can never be read: it was deleted, or its result cannot be decoded here.
const LOST_CHILD_CODES = [...RUN_GONE_CODES, 'INVALID_INPUT', 'DAMAGED'] as const;

/** The result or error of a child run; undefined while it has not ended. */
async function readChildEnd(at: RunContext, child: string): Promise<Pick<Entry, 'value' | 'error'> | undefined> {
  const childContext = { ...at, run: child, partition: toPartition(at.tenant, child), migrator: undefined };
  try {
    const loaded = await loadCheckpoint(childContext);
    if (!hasEnded(loaded.head.meta.status)) return undefined;
    return resultOrError(toCheckpoint(childContext, loaded));
  } catch (error) {
    if (isWaitstateError(error, ...LOST_CHILD_CODES)) return { error };
    throw error;
  }
}
