import type { CheckpointSummary } from '../checkpoints/engine.ts';
import { hasEnded, type Status } from '../core/status.ts';
import {
  ENDED_LABEL,
  FAILED_LABEL,
  NOTE_LABEL,
  TOOK_LABEL,
  UNDONE_LABEL,
  WAITS_LABEL,
} from '../runtime/journal/checkpoint-labels.ts';
import { activityAfter } from '../runtime/journal/spent.ts';
import { describeStatus, describeWaits } from './describe-waits.ts';

/** What a run did during a span of time. */
export type SpanKind =
  /** Work that a checkpoint recorded. */
  | 'step'
  /** An attempt that failed. */
  | 'failure'
  /** It was READY, and not claimed yet. */
  | 'queued'
  /** It waited for an approval, a signal, a timer, a child run or the next attempt. */
  | 'waiting'
  /** Its process crashed or lost the lease: from the last checkpoint to the next claim. */
  | 'crash'
  /** A change from outside: rewind, undo, cancel, retry, prune. It is a moment, and takes no time. */
  | 'change';

/** One span of a timeline. */
export interface Span {
  readonly kind: SpanKind;
  /** The names of steps, what it waited for, a status, or the kind of change. */
  readonly label: string;
  readonly from: Date;
  readonly to: Date;
  /** The checkpoint that ended it; absent for the current span. */
  readonly checkpoint?: CheckpointSummary;
  /** The status of the run during the span. */
  readonly status: Status;
  /** The operations that the checkpoint recorded, if they ran side by side. Each has its own time. */
  readonly parts?: readonly SpanPart[];
}

/** One of the operations that ran side by side. It may have begun before the checkpoint that precedes the span. */
export interface SpanPart extends Pick<Span, 'label' | 'from' | 'to'> {
  readonly kind: 'step' | 'failure';
}

/** The milliseconds of each kind of span. */
export type TimelineTotals = Readonly<Record<SpanKind, number>>;

/** The consecutive spans of a run, and the milliseconds of each kind in total. */
export interface Timeline {
  readonly spans: readonly Span[];
  readonly totals: TimelineTotals;
  readonly crashes: number;
  readonly failures: number;
}

/** The run now: an event may have woken it since its newest checkpoint. */
export interface CurrentRun {
  readonly now: Date;
  readonly status?: Status;
  /** When the status last changed. */
  readonly updatedAt?: Date;
}

/**
 * Builds the timeline of consecutive checkpoints, oldest first. The first one ends a span only if it starts the run.
 * With `current`, the time since the last checkpoint is a span too. The time after the end of a run is none.
 */
export function buildTimeline(checkpoints: readonly CheckpointSummary[], current?: CurrentRun): Timeline {
  const spans = checkpoints.flatMap((checkpoint, i) => {
    const before = checkpoints[i - 1];
    if (before) return spansBetween(before, checkpoint);
    return checkpoint.version === 1 ? [firstSpan(checkpoint)] : [];
  });
  const last = checkpoints.at(-1);
  if (last && current && !hasEnded(current.status ?? last.status)) spans.push(...currentSpans(last, current));
  const totals = { step: 0, failure: 0, queued: 0, waiting: 0, crash: 0, change: 0 };
  for (const { kind, from, to } of spans) totals[kind] += to.getTime() - from.getTime();
  const count = (wanted: SpanKind) => spans.filter(({ kind }) => kind === wanted).length;
  return { spans, totals, crashes: count('crash'), failures: count('failure') };
}

function firstSpan(checkpoint: CheckpointSummary): Span {
  const { savedAt, status, kind } = checkpoint;
  const isFork = kind === 'fork';
  const about = { kind: isFork ? 'change' : 'queued', label: isFork ? 'fork' : 'start' } as const;
  return { ...about, from: savedAt, to: savedAt, checkpoint, status };
}

/** The spans that a checkpoint ends. A change from outside is a moment, after what the run did until then. */
function spansBetween(before: CheckpointSummary, checkpoint: CheckpointSummary): readonly Span[] {
  const { status } = before;
  const to = checkpoint.savedAt;
  // The clocks of two writers may differ; a span never has a negative length.
  const from = before.savedAt < to ? before.savedAt : to;
  const span = { from, to, checkpoint, status };
  if (checkpoint.kind === 'claim') return [{ ...span, ...describeIdle(before, true) }];
  if (checkpoint.kind === 'save') return savedSpans(before, span);
  const change: Span = { ...span, kind: 'change', label: changeLabel(checkpoint), from: to };
  const isIdle = hasEnded(status) || from >= to;
  return isIdle ? [change] : [{ ...span, ...describeIdle(before, false) }, change];
}

/** What a run did between a checkpoint and the next one, if that recorded no work. */
function describeIdle(before: CheckpointSummary, isClaim: boolean): Pick<Span, 'kind' | 'label'> {
  switch (activityAfter(before, isClaim)) {
    case 'crash':
      return { kind: 'crash', label: 'lost to a crash' };
    case 'queued':
    case 'ended':
      return { kind: 'queued', label: 'queued' };
    case 'waiting':
      return { kind: 'waiting', label: describeWaits(before.labels[WAITS_LABEL], before.status) };
    case 'step':
      return { kind: 'step', label: describeStatus(before.status) };
  }
}

/** A cancel, or the way in which a run was ended from outside. */
function changeLabel({ kind, status, labels }: CheckpointSummary): string {
  if (kind !== 'cancel') return kind;
  const code = labels[ENDED_LABEL];
  if (code === 'TIMED_OUT') return 'timed out';
  return code === 'RUN_CANCELLED' || (code === undefined && status !== 'FAILED') ? 'cancel' : 'failed';
}

type SpanFrame = Pick<Span, 'from' | 'to' | 'status'> & { readonly checkpoint: CheckpointSummary };

/** The spans of a checkpoint that an agent or a program saved. */
function savedSpans(before: CheckpointSummary, span: SpanFrame): readonly Span[] {
  const { checkpoint } = span;
  const about = describeSaved(checkpoint, before);
  const parts = readParts(checkpoint, before, span);
  const [part] = parts;
  if (!part) return [{ ...span, ...about }];
  if (parts.length > 1 || part.from < span.from) return [{ ...span, ...about, parts }];
  const isRetry = before.labels[FAILED_LABEL]?.split(', ').includes(part.label);
  if (!isRetry) return [{ ...span, ...about }];
  const wait: Span = {
    ...span,
    to: part.from,
    kind: 'waiting',
    label: describeWaits(`retry ${part.label}`, 'SLEEPING'),
  };
  return [wait, { ...span, ...about, from: part.from }];
}

function describeSaved(checkpoint: CheckpointSummary, before: CheckpointSummary): Pick<Span, 'kind' | 'label'> {
  const { step, labels, status } = checkpoint;
  const failed = labels[FAILED_LABEL];
  if (failed !== undefined) return { kind: 'failure', label: failed };
  const undone = labels[UNDONE_LABEL];
  if (undone !== undefined) return { kind: 'step', label: `undo ${undone}` };
  if (step !== undefined) return { kind: 'step', label: step };
  if (labels[WAITS_LABEL] !== undefined) return { kind: 'step', label: 'suspended' };
  if (status !== before.status) return { kind: 'step', label: describeStatus(status) };
  const note = labels[NOTE_LABEL] ?? (checkpoint.pruned ? 'checkpoint' : 'update');
  // A short sleep stays in the process.
  return { kind: /^sleep [^,]*$/.test(note) ? 'waiting' : 'step', label: note };
}

/** The operations that a checkpoint recorded, with their times. None if it is one that took all the time of the span. */
function readParts(
  { step, labels, stepNumber }: CheckpointSummary,
  before: CheckpointSummary,
  { from, to }: SpanFrame,
): readonly SpanPart[] {
  const took = labels[TOOK_LABEL]?.split(',').map(Number);
  const steps = step?.split(', ') ?? [];
  const failed = labels[FAILED_LABEL]?.split(', ') ?? [];
  const names = [...steps, ...failed.filter((name) => !steps.includes(name))];
  // A name can have a comma, and many names are cut.
  const isKnown = took ? took.length === names.length : steps.length === stepNumber - before.stepNumber;
  if (!isKnown || (names.length < 2 && !took)) return [];
  return names.map((label, i) => ({
    kind: failed.includes(label) ? 'failure' : 'step',
    label,
    from: took ? new Date(to.getTime() - (took[i] ?? 0)) : from,
    to,
  }));
}

/** The spans since the newest checkpoint. */
export function currentSpans(
  last: CheckpointSummary,
  { now, status = last.status, updatedAt }: CurrentRun,
): readonly Span[] {
  const { savedAt: from } = last;
  const to = now > from ? now : from;
  const idle = describeIdle(last, false);
  if (idle.kind !== 'waiting' || status !== 'READY') return [{ ...idle, from, to, status: last.status }];
  const wokenAt = updatedAt && updatedAt > from && updatedAt < to ? updatedAt : to;
  return [
    { ...idle, from, to: wokenAt, status: last.status },
    { kind: 'queued', label: 'queued', from: wokenAt, to, status },
  ];
}
