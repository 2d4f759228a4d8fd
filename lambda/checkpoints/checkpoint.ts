import type { Status } from '../core/status.ts';

/** What was used to sample the model in this step; kept so that a difference on resume is visible. */
export interface ModelParameters {
  readonly id?: string;
  readonly version?: string;
  readonly temperature?: number;
  readonly topP?: number;
  readonly seed?: number;
  readonly [parameter: string]: unknown;
}

/** A checkpoint of a run, by name and number. */
export interface CheckpointId {
  readonly run: string;
  readonly version: number;
}

/** How a checkpoint came to be: saved by an agent, or made from what was there. */
export type CheckpointKind =
  | 'save'
  | 'fork'
  | 'rewind'
  | 'undo'
  | 'redo'
  | 'prune'
  | 'shred'
  | 'delete'
  /** An invocation took the run. */
  | 'claim'
  /** Somebody ended the run from outside. */
  | 'cancel'
  /** A run that had failed goes on. */
  | 'retry';

/** What a checkpoint is called. */
export interface CheckpointFields {
  /** The name of the step that this checkpoint ends. */
  readonly step?: string | undefined;
  /** @default one more than before when there is a step */
  readonly stepNumber?: number | undefined;
  /** @default as it was; RUNNING for a new run */
  readonly status?: Status | undefined;
  /** A name of its own within the run. */
  readonly name?: string | undefined;
  /** Takes the name from the checkpoint that has it. */
  readonly moveName?: boolean | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** The caller's own id of this write: a second try under it, even in another process, finds the first. */
  readonly writeId?: string | undefined;
  /** The checkpoint of another run that started this one; only for the first save. */
  readonly parent?: CheckpointId | undefined;
}

/** What is known of a checkpoint without opening its state. */
export interface CheckpointSummary extends CheckpointId {
  readonly kind: CheckpointKind;
  readonly status: Status;
  readonly step?: string;
  readonly stepNumber: number;
  readonly name?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The schema version that the state was stored with, where the store that wrote it had a schema. */
  readonly schema?: number | string;
  /** What it was made from: the checkpoint before it, the origin of a fork, or the run that started this one. */
  readonly parent?: CheckpointId;
  /** The version whose content a rewind, undo or redo brought back, or that a prune shows on. */
  readonly restored?: number;
  readonly savedAt: Date;
  readonly writer: string;
  readonly writeId: string;
  /** The hash of this checkpoint, and of the one before it. */
  readonly hash: string;
  readonly previousHash?: string;
  /** True once a prune emptied it: its place in history is all that is left. */
  readonly pruned: boolean;
  /** Bytes in the record and in the payloads that this checkpoint wrote for its state. */
  readonly bytes: number;
}

/**
 * A checkpoint with its state. What was loaded is deeply frozen where JavaScript can freeze it: change a copy, or use
 * `update`.
 */
export interface Checkpoint<State = unknown> extends CheckpointSummary {
  readonly state: State;
  /** Every tool result of the run that was not forgotten, by call id. */
  readonly toolResults: Readonly<Record<string, unknown>>;
  readonly model?: ModelParameters;
}

/** What is known of a run without opening any checkpoint. */
export interface RunSummary {
  readonly run: string;
  readonly status: Status;
  readonly agent?: string;
  readonly owner?: string;
  readonly tags: readonly string[];
  /** Where the run was when its status last changed; steps since then do not move a run in lists. */
  readonly statusChange: { readonly version: number; readonly step?: string; readonly stepNumber: number };
  readonly createdAt: Date;
  readonly touchedAt: Date;
  readonly parent?: CheckpointId;
  readonly retentionSeconds?: number;
  readonly encrypted: boolean;
  /** True once its key was destroyed. */
  readonly shredded: boolean;
}
