import { type Entry, hasSettled } from '../journal/entries.ts';
import type { SignalEvent } from '../wake/events.ts';

/** What happened outside of a run that can settle its waits. */
export interface Outcomes {
  readonly now: number;
  /** Signals that no wait has used yet, oldest first. */
  readonly signals: readonly SignalEvent[];
  /** The decisions by the id of the approval; pending approvals have none. */
  readonly decisions: ReadonlyMap<string, unknown>;
  /** The results and errors of child runs that have ended, by run. */
  readonly children: ReadonlyMap<string, Pick<Entry, 'value' | 'error'>>;
}

/** The waits that are settled, and the numbers of the signals that they used. */
export interface SettledWaits {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly usedSignals: ReadonlySet<number>;
}

/**
 * Decides which waits are settled. A signal goes to the wait that began first, and a wait gets the oldest signal. A
 * signal that was received before the wait timed out counts, however late this is called.
 */
export function settle(waits: ReadonlyMap<string, Entry>, outcomes: Outcomes): SettledWaits {
  const entries = new Map<string, Entry>();
  const usedSignals = new Set<number>();
  const inOrder = [...waits]
    .filter(([, entry]) => !hasSettled(entry))
    .toSorted(([, a], [, b]) => (a.order ?? 0) - (b.order ?? 0));
  for (const [id, entry] of inOrder) {
    const settled = settledEntry(entry, outcomes, usedSignals);
    if (settled) entries.set(id, settled);
  }
  return { entries, usedSignals };
}

function settledEntry(
  entry: Entry,
  { now, signals, decisions, children }: Outcomes,
  usedSignals: Set<number>,
): Entry | undefined {
  if (entry.kind === 'sleep') return entry.until <= now ? { ...entry, value: undefined } : undefined;
  if (entry.kind === 'signal') {
    const { until = Infinity } = entry;
    const signal = signals.find(
      ({ name, at, number }) => name === entry.signal && at < until && !usedSignals.has(number),
    );
    if (signal) {
      usedSignals.add(signal.number);
      return { ...entry, value: signal.value, ...(signal.unchecked && { unchecked: true }) };
    }
    return until <= now ? { ...entry, value: undefined, timedOut: true } : undefined;
  }
  if (entry.kind === 'call') {
    const end = children.get(entry.child ?? '');
    return end && { ...entry, ...end };
  }
  if (entry.kind !== 'approval' || entry.decided !== undefined) return undefined;
  const decision = decisions.get(entry.approval ?? '');
  if (decision === undefined) return undefined;
  return entry.rechecks ? { ...entry, decided: decision } : { ...entry, value: decision };
}
