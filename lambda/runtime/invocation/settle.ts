import type { Entry } from '../journal/entries.ts';
import { hasSettled } from '../journal/entries.ts';
import type { SignalEvent } from '../wake/events.ts';

/** What outside events say about the waits of a run. */
export interface Outcomes {
  readonly now: number;
  /** Signals that nobody has used yet, in their order. */
  readonly signals: readonly SignalEvent[];
  /** What approvals came to, by their id; those that are open are not in it. */
  readonly decisions: ReadonlyMap<string, unknown>;
  /** How children ended, by their run. */
  readonly children: ReadonlyMap<string, Pick<Entry, 'value' | 'error'>>;
}

/** The waits that are over, and the signals that they used. */
export interface SettledWaits {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly usedSignals: ReadonlySet<number>;
}

/**
 * Which of the waits are over. A signal goes to the wait that began first, a wait gets the signal that came first; one
 * that came before the wait timed out counts, however late this is asked.
 */
export function settle(waits: ReadonlyMap<string, Entry>, happened: Outcomes): SettledWaits {
  const entries = new Map<string, Entry>();
  const used = new Set<number>();
  const inOrder = [...waits]
    .filter(([, entry]) => !hasSettled(entry))
    .toSorted(([, a], [, b]) => (a.order ?? 0) - (b.order ?? 0));
  for (const [id, entry] of inOrder) {
    const over = settledEntry(entry, happened, used);
    if (over) entries.set(id, over);
  }
  return { entries, usedSignals: used };
}

function settledEntry(
  entry: Entry,
  { now, signals, decisions, children }: Outcomes,
  used: Set<number>,
): Entry | undefined {
  if (entry.kind === 'sleep') return entry.until <= now ? { ...entry, value: undefined } : undefined;
  if (entry.kind === 'signal') {
    const { until = Infinity } = entry;
    const signal = signals.find(({ name, at, number }) => name === entry.signal && at < until && !used.has(number));
    if (signal) used.add(signal.number);
    if (signal) return { ...entry, value: signal.value, ...(signal.unchecked && { unchecked: true }) };
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
