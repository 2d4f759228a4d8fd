import type { RunCipher } from './encryption/run-cipher.ts';
import type { CheckpointRecord, HeadRecord } from './format/records.ts';
import type { Content } from './format/root.ts';

/** Which checkpoint: a version, or the one that has a name. */
export type CheckpointSelector = number | { readonly version: number } | { readonly name: string };

/** A checkpoint that was found, not opened. */
export interface FoundCheckpoint {
  readonly head: HeadRecord;
  /** The record that is asked for, last, and what it stands on where that was read too. */
  readonly records: readonly CheckpointRecord[];
}

/** A checkpoint that was opened, with all it takes to write the next one. */
export interface LoadedCheckpoint extends Content {
  readonly head: HeadRecord;
  readonly record: CheckpointRecord;
  readonly cipher: RunCipher;
  readonly seenAt: number;
}
