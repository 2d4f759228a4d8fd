import type { CheckpointSummary } from '../checkpoints/engine.ts';
import { hasEnded, isWaiting, type Status } from '../core/status.ts';
import { FAILED_LABEL, UNDONE_LABEL } from '../runtime/invocation/batch.ts';

/** What a stretch of a run's time was spent on. */
export type SpanKind =
  /** Work that a checkpoint recorded. */
  | 'step'
  /** An attempt that failed; what pause follows it belongs to the next attempt. */
  | 'failure'
  /** Nobody had it: it was ready, and not taken yet. */
  | 'queued'
  /** It waited for people, a signal, a timer, a child, or the next attempt. */
  | 'waiting'
  /** Its process died or lost it: from the last checkpoint to the claim that took over. */
  | 'crash'
  /** A change from outside: rewind, undo, cancel, retry, prune. */
  | 'change';

/** One stretch of a timeline. */
export interface Span {
  readonly kind: SpanKind;
  /** A step's name, a status, what was done. */
  readonly label: string;
  readonly from: Date;
  readonly to: Date;
  /** The checkpoint that ended it; absent for what goes on. */
  readonly checkpoint?: CheckpointSummary;
  /** The status that the run had meanwhile. */
  readonly status: Status;
}

/** A run's time: stretches one after the other, and how many milliseconds each kind of them took together. */
export interface Timeline {
  readonly spans: readonly Span[];
  readonly totals: Readonly<Record<SpanKind, number>>;
  readonly crashes: number;
  readonly failures: number;
}

/**
 * The timeline of consecutive checkpoints, oldest first; the first of them ends no stretch unless it begins the run.
 * With `now`, what goes on since the last one is a stretch too.
 */
export function buildTimeline(checkpoints: readonly CheckpointSummary[], now?: Date): Timeline {
  const stretches: Span[] = [];
  let before: CheckpointSummary | undefined;
  for (const checkpoint of checkpoints) {
    if (before || checkpoint.version === 1) stretches.push(stretchTo(checkpoint, before));
    before = checkpoint;
  }
  if (before && now && !hasEnded(before.status)) stretches.push(goingOn(before, now));
  const totals = { step: 0, failure: 0, queued: 0, waiting: 0, crash: 0, change: 0 };
  for (const { kind, from, to } of stretches) totals[kind] += to.getTime() - from.getTime();
  const count = (wanted: SpanKind) => stretches.filter(({ kind }) => kind === wanted).length;
  return { spans: stretches, totals, crashes: count('crash'), failures: count('failure') };
}

function stretchTo(checkpoint: CheckpointSummary, before: CheckpointSummary | undefined): Span {
  const status = before?.status ?? checkpoint.status;
  const to = checkpoint.savedAt;
  // Clocks of two writers may differ; time does not go back in a picture.
  const from = before && before.savedAt < to ? before.savedAt : to;
  return { ...kindAndLabel(checkpoint, before), from, to, checkpoint, status };
}

function kindAndLabel(
  checkpoint: CheckpointSummary,
  before: CheckpointSummary | undefined,
): Pick<Span, 'kind' | 'label'> {
  const { kind, step, labels, status } = checkpoint;
  if (!before) return { kind: kind === 'fork' ? 'change' : 'queued', label: kind === 'fork' ? 'fork' : 'start' };
  if (kind === 'claim') return takenOver(before);
  if (kind !== 'save') return { kind: 'change', label: kind };
  const failed = labels[FAILED_LABEL];
  if (failed !== undefined) return { kind: 'failure', label: failed };
  const undone = labels[UNDONE_LABEL];
  if (undone !== undefined) return { kind: 'step', label: `undo ${undone}` };
  if (step !== undefined) return { kind: 'step', label: step };
  return { kind: 'step', label: status === before.status ? 'update' : describeStatus(status) };
}

/** What the time before a claim was: it waited, it was ready, or who had it never came back. */
function takenOver({ status, kind }: CheckpointSummary): Pick<Span, 'kind' | 'label'> {
  if (isWaiting(status)) return { kind: 'waiting', label: describeStatus(status) };
  const wasTaken = status === 'RUNNING' || (status === 'ENDING' && kind !== 'cancel');
  return wasTaken ? { kind: 'crash', label: 'crash' } : { kind: 'queued', label: describeStatus(status) };
}

function goingOn(last: CheckpointSummary, now: Date): Span {
  const { status, savedAt: from } = last;
  const kind = isWaiting(status) ? 'waiting' : status === 'READY' ? 'queued' : 'step';
  return { kind, label: describeStatus(status), from, to: now > from ? now : from, status };
}

/** A status in words: `waiting for approval`. */
export const describeStatus = (status: Status): string => status.toLowerCase().replaceAll('_', ' ');
