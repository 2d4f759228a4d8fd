import type { Person } from '../core/approval.ts';
import type { Duration } from '../core/duration.ts';
import type { Status } from '../core/status.ts';

/** The model parameters of a step, stored so that a change on resume is visible. */
export interface ModelParameters {
  readonly id?: string;
  readonly version?: string;
  readonly temperature?: number;
  readonly topP?: number;
  readonly seed?: number;
  readonly [parameter: string]: unknown;
}

/** A checkpoint, by run and version. */
export interface CheckpointId {
  readonly run: string;
  readonly version: number;
}

/** What created a checkpoint: a save, or an operation on the run. */
export type CheckpointKind =
  | 'save'
  | 'fork'
  | 'rewind'
  | 'undo'
  | 'redo'
  | 'prune'
  | 'shred'
  | 'delete'
  /** An invocation claimed the run. */
  | 'claim'
  /** The run was cancelled or ended by an operator or a timeout. */
  | 'cancel'
  /** A failed run was retried. */
  | 'retry';

/** The descriptive fields of a checkpoint. */
export interface CheckpointFields {
  /** The name of the step that completes with this checkpoint. */
  readonly step?: string | undefined;
  /** @default one more than the previous checkpoint's if `step` is set */
  readonly stepNumber?: number | undefined;
  /** @default unchanged; RUNNING for a new run */
  readonly status?: Status | undefined;
  /** A name that is unique within the run. */
  readonly name?: string | undefined;
  /** Whether to move the name from the checkpoint that has it. */
  readonly moveName?: boolean | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Your id for this write, which makes it idempotent: a retry, even in another process, returns the first result. */
  readonly writeId?: string | undefined;
  /** The checkpoint of the run that started this one; only on the first save. */
  readonly parent?: CheckpointId | undefined;
}

/** A checkpoint without its state. */
export interface CheckpointSummary extends CheckpointId {
  readonly kind: CheckpointKind;
  readonly status: Status;
  readonly step?: string;
  readonly stepNumber: number;
  readonly name?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The schema version of the stored state, if the store that wrote it had a schema. */
  readonly schema?: number | string;
  /** The checkpoint before it, the origin of a fork, or the checkpoint of the run that started this one. */
  readonly parent?: CheckpointId;
  /** The version whose content a rewind, undo or redo restored, or that stays current after a prune. */
  readonly restored?: number;
  readonly savedAt: Date;
  readonly writer: string;
  readonly writeId: string;
  /** The hash of this checkpoint and of the previous one. */
  readonly hash: string;
  readonly previousHash?: string;
  /** Whether a prune emptied it, so that only its entry in the history is left. */
  readonly pruned: boolean;
  /** The size of its record and of the payloads that it wrote for its state. */
  readonly bytes: number;
}

/**
 * A checkpoint with its state. Loaded values are deeply frozen where JavaScript allows it: change a copy, or use
 * `update`.
 */
export interface Checkpoint<State = unknown> extends CheckpointSummary {
  readonly state: State;
  /** All tool results of the run that were not forgotten, by call id. */
  readonly toolResults: Readonly<Record<string, unknown>>;
  readonly model?: ModelParameters;
}

/** What came of a run, as lists show it. It is not encrypted. */
export interface RunOutcome {
  /** The result, the message of the error, or the reason of a cancellation, in a line. Absent if the run is encrypted. */
  readonly text?: string;
  /** The code of the error, if it is one of Waitstate. */
  readonly code?: string;
  /** The status of the last approval, and who decided it. */
  readonly decision?: readonly [status: string, ...by: string[]];
}

/** A run without any of its states. */
export interface RunSummary {
  readonly run: string;
  readonly status: Status;
  readonly agent?: string;
  readonly owner?: string;
  /** The person who requested the run. */
  readonly requestedBy?: Person;
  readonly tags: readonly string[];
  /**
   * The checkpoint at which the status last changed, and its step; later steps do not update lists. For a failed run,
   * this is the step that failed, also when its steps were undone or other branches completed steps after it.
   */
  readonly statusChange: { readonly version: number; readonly step?: string; readonly stepNumber: number };
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** The checkpoint that the run was forked from, or at which its parent run started it. */
  readonly parent?: CheckpointId;
  /** Whether the run is a fork of `parent`. If not, `parent` started it. */
  readonly forked: boolean;
  /** What it waits for, by kind and name: `signal seat, call billing`. Absent unless it is suspended. */
  readonly waitsFor?: string;
  /** What came of it, in a line, and what people decided. Absent until it has ended. */
  readonly outcome?: RunOutcome;
  /** Why it cannot resume on the deployed code. */
  readonly parkedReason?: string;
  /** How long the run is kept after its last write; absent if it is kept forever. */
  readonly retention?: Duration;
  readonly encrypted: boolean;
  /** Whether its data key was destroyed. */
  readonly shredded: boolean;
}
