import type { CheckpointSummary } from '../checkpoints/engine.ts';
import { hasEnded, isWaiting, type Status } from '../core/status.ts';
import { FAILED_LABEL, UNDONE_LABEL, WAITS_LABEL } from '../runtime/invocation/batch.ts';

/** What a run did during a span of time. */
export type SpanKind =
  /** Work that a checkpoint recorded. */
  | 'step'
  /** An attempt that failed; the retry delay after it belongs to the next attempt. */
  | 'failure'
  /** It was READY, and not claimed yet. */
  | 'queued'
  /** It waited for an approval, a signal, a timer, a child run or the next attempt. */
  | 'waiting'
  /** Its process crashed or lost the lease: from the last checkpoint to the next claim. */
  | 'crash'
  /** A change from outside: rewind, undo, cancel, retry, prune. */
  | 'change';

/** One span of a timeline. */
export interface Span {
  readonly kind: SpanKind;
  /** The names of steps or waits, a status, or the kind of change. */
  readonly label: string;
  readonly from: Date;
  readonly to: Date;
  /** The checkpoint that ended it; absent for the current span. */
  readonly checkpoint?: CheckpointSummary;
  /** The status of the run during the span. */
  readonly status: Status;
}

/** The consecutive spans of a run, and the milliseconds of each kind in total. */
export interface Timeline {
  readonly spans: readonly Span[];
  readonly totals: Readonly<Record<SpanKind, number>>;
  readonly crashes: number;
  readonly failures: number;
}

/**
 * Builds the timeline of consecutive checkpoints, oldest first. The first one ends a span only if it starts the run.
 * With `now`, the time since the last checkpoint is a span too.
 */
export function buildTimeline(checkpoints: readonly CheckpointSummary[], now?: Date): Timeline {
  const spans: Span[] = [];
  let before: CheckpointSummary | undefined;
  for (const checkpoint of checkpoints) {
    if (before || checkpoint.version === 1) spans.push(spanTo(checkpoint, before));
    before = checkpoint;
  }
  if (before && now && !hasEnded(before.status)) spans.push(currentSpan(before, now));
  const totals = { step: 0, failure: 0, queued: 0, waiting: 0, crash: 0, change: 0 };
  for (const { kind, from, to } of spans) totals[kind] += to.getTime() - from.getTime();
  const count = (wanted: SpanKind) => spans.filter(({ kind }) => kind === wanted).length;
  return { spans, totals, crashes: count('crash'), failures: count('failure') };
}

function spanTo(checkpoint: CheckpointSummary, before: CheckpointSummary | undefined): Span {
  const status = before?.status ?? checkpoint.status;
  const to = checkpoint.savedAt;
  // The clocks of two writers may differ; a span never has a negative length.
  const from = before && before.savedAt < to ? before.savedAt : to;
  return { ...classifySpan(checkpoint, before), from, to, checkpoint, status };
}

function classifySpan(
  checkpoint: CheckpointSummary,
  before: CheckpointSummary | undefined,
): Pick<Span, 'kind' | 'label'> {
  const { kind, step, labels, status } = checkpoint;
  if (!before) return { kind: kind === 'fork' ? 'change' : 'queued', label: kind === 'fork' ? 'fork' : 'start' };
  if (kind === 'claim') return classifyTimeBeforeClaim(before);
  if (kind !== 'save') return { kind: 'change', label: kind };
  const failed = labels[FAILED_LABEL];
  if (failed !== undefined) return { kind: 'failure', label: failed };
  const undone = labels[UNDONE_LABEL];
  if (undone !== undefined) return { kind: 'step', label: `undo ${undone}` };
  if (step !== undefined) return { kind: 'step', label: step };
  if (status !== before.status) return { kind: 'step', label: describeStatus(status) };
  return { kind: 'step', label: labels[WAITS_LABEL] ?? 'update' };
}

/** Classifies the time before a claim: the run waited, was READY, or its process had crashed. */
function classifyTimeBeforeClaim({ status, kind }: CheckpointSummary): Pick<Span, 'kind' | 'label'> {
  if (isWaiting(status)) return { kind: 'waiting', label: describeStatus(status) };
  const wasClaimed = status === 'RUNNING' || (status === 'ENDING' && kind !== 'cancel');
  return wasClaimed ? { kind: 'crash', label: 'crash' } : { kind: 'queued', label: describeStatus(status) };
}

function currentSpan(last: CheckpointSummary, now: Date): Span {
  const { status, savedAt: from } = last;
  const kind = isWaiting(status) ? 'waiting' : status === 'READY' ? 'queued' : 'step';
  return { kind, label: describeStatus(status), from, to: now > from ? now : from, status };
}

/** A status in words: `waiting for approval`. */
export const describeStatus = (status: Status): string => status.toLowerCase().replaceAll('_', ' ');
