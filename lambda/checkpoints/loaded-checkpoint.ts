import type { RunCipher } from './encryption/run-cipher.ts';
import type { CheckpointRecord, HeadRecord } from './format/records.ts';
import type { Content } from './format/root.ts';

/** Selects a checkpoint by version or by name. */
export type CheckpointSelector = number | { readonly version: number } | { readonly name: string };

/** The records of a checkpoint that was found but not decrypted yet. */
export interface FoundCheckpoint {
  readonly head: HeadRecord;
  /** The record of the checkpoint, last, after the earlier records of its chain if those were read too. */
  readonly records: readonly CheckpointRecord[];
}

/** A loaded checkpoint, with everything that is needed to write the next one. */
export interface LoadedCheckpoint extends Content {
  readonly head: HeadRecord;
  readonly record: CheckpointRecord;
  readonly cipher: RunCipher;
  readonly seenAt: number;
}
