import type { CheckpointSummary } from '../checkpoints/checkpoint.ts';
import type { Status } from '../core/status.ts';

/** What a stretch of a run's time was spent on. */
export type StretchKind =
  /** Work that a checkpoint ended. */
  | 'step'
  /** Nobody had it: it was ready, and not taken yet. */
  | 'queued'
  /** It waited for people, a signal, a timer, a child. */
  | 'waiting'
  /** Its process died or lost it; from the last checkpoint to the claim that took over. */
  | 'crash'
  /** A change from outside: rewind, undo, cancel, retry, prune. */
  | 'change';

/** One stretch of the timeline: what ended with a checkpoint. */
export interface Stretch {
  readonly kind: StretchKind;
  /** A step's name, a status, what was done. */
  readonly label: string;
  readonly from: Date;
  /** The present for what goes on. */
  readonly to: Date;
  /** The checkpoint that ended it; absent for what goes on. */
  readonly checkpoint?: CheckpointSummary;
  /** The status that it had meanwhile. */
  readonly status: Status;
}

/** A run's time as a picture: stretches one after the other, and what each kind of them took together. */
export interface Timeline {
  readonly stretches: readonly Stretch[];
  readonly totals: Readonly<Record<StretchKind, number>>;
  readonly crashes: number;
}

/** The timeline of consecutive checkpoints, oldest first. `now` ends what goes on; without, the last checkpoint does. */
export declare function timelineOf(checkpoints: readonly CheckpointSummary[], now?: Date): Timeline;
