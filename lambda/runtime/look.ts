import type { Checkpoint } from '../checkpoints/checkpoint.ts';
import { checkpointOf } from '../checkpoints/content.ts';
import type { RunContext } from '../checkpoints/context.ts';
import { open } from '../checkpoints/open.ts';
import type { Sealing } from '../checkpoints/sealing.ts';
import { isHoldpointError } from '../core/errors.ts';
import { partitionOf } from '../core/ids.ts';
import { hasEnded } from '../core/status.ts';
import { readApprovals } from './approvals/approval-records.ts';
import { decisionOf } from './approvals/decision.ts';
import type { Entry } from './entries.ts';
import { EventLog } from './events.ts';
import type { Happened, SignalEvent } from './settle.ts';

/** The entry that says which signals were used. */
export const CURSOR = '@cursor';

/** What was seen outside of the run, and how to remember which signals were used. */
export interface Seen {
  readonly happened: Happened;
  /** The entry to record with what used these signals; undefined when none was used. */
  cursorAfter(used: ReadonlySet<number>): readonly [id: string, entry: Entry] | undefined;
}

/**
 * Reads what the waits of a run are about, and nothing when they are about nothing outside. Who looks again and again
 * passes the events that were read.
 */
export async function lookAround(
  at: RunContext,
  sealing: Sealing,
  journal: ReadonlyMap<string, Entry>,
  waits: ReadonlyMap<string, Entry>,
  events = new EventLog(),
): Promise<Seen> {
  const entries = [...waits.values()];
  const { cursor = 0, value } = journal.get(CURSOR) ?? { kind: 'cursor' };
  // Signals after the cursor that were used before others which came earlier.
  const usedBefore = new Set((value ?? []) as readonly number[]);
  const signals = entries.some(({ kind }) => kind === 'signal')
    ? (await events.signalsAfter(at, sealing, cursor)).filter(({ number }) => !usedBefore.has(number))
    : [];
  const approvals = entries.flatMap(({ kind, approval, decided }) =>
    kind === 'approval' && approval !== undefined && decided === undefined ? [approval] : [],
  );
  const decisions = new Map<string, unknown>();
  for (const approval of approvals.length > 0 ? await readApprovals(at, approvals) : []) {
    const decision = decisionOf(at, sealing, approval);
    if (decision) decisions.set(approval.id, decision);
  }
  const children = new Map<string, Pick<Entry, 'value' | 'error'>>();
  for (const { kind, child } of entries) {
    const end = kind === 'call' && child !== undefined ? await endOf(at, child) : undefined;
    if (end && child !== undefined) children.set(child, end);
  }
  return {
    happened: { now: at.now(), signals, decisions, children },
    cursorAfter: (used) =>
      used.size === 0 ? undefined : [CURSOR, cursorEntry(signals, new Set([...usedBefore, ...used]), cursor)],
  };
}

/** Everything before the cursor was used; behind it, the numbers of those that were. */
function cursorEntry(signals: readonly SignalEvent[], used: ReadonlySet<number>, cursor: number): Entry {
  const unused = signals.filter(({ number }) => !used.has(number)).map(({ number }) => number);
  const last = Math.max(cursor, ...used);
  const before = unused.length === 0 ? last : Math.min(Math.min(...unused) - 1, last);
  return { kind: 'cursor', cursor: before, value: [...used].filter((number) => number > before) };
}

/** How a child ended, if it did. */
async function endOf(at: RunContext, child: string): Promise<Pick<Entry, 'value' | 'error'> | undefined> {
  const there = { ...at, run: child, partition: partitionOf(at.tenant, child), ladder: undefined };
  try {
    const opened = await open(there);
    if (!hasEnded(opened.head.meta.status)) return undefined;
    return resultOf(checkpointOf(there, opened));
  } catch (error) {
    if (isHoldpointError(error, 'RUN_NOT_FOUND')) return undefined;
    if (isHoldpointError(error, 'RUN_DELETED') || isHoldpointError(error, 'RUN_EXPIRED')) return { error };
    throw error;
  }
}

/** The result or the error of a run that has ended. */
export function resultOf({ toolResults }: Checkpoint): Pick<Entry, 'value' | 'error'> {
  const result = toolResults['@result'] as Entry | undefined;
  const failure = toolResults['@error'] as Entry | undefined;
  return failure ? { error: failure.error } : { value: result?.value };
}
