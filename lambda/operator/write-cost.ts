import type { CheckpointSummary } from '../checkpoints/engine.ts';

/** About what it takes to write a checkpoint on AWS. */
export interface WriteCost {
  /** Of DynamoDB: one for each kilobyte of the record. */
  readonly writeUnits: number;
  /** Objects that are put to S3. */
  readonly puts: number;
}

// What is larger is beside the record, on S3, and the record itself is small.
const LARGEST_RECORD = 9 * 1024;
const UNIT = 1024;

/**
 * About what a checkpoint costs where it is kept on AWS, by its size alone: indexes, and the head that a change of status
 * writes in the same transaction, come on top.
 */
export const writeCost = ({ bytes }: Pick<CheckpointSummary, 'bytes'>): WriteCost =>
  bytes > LARGEST_RECORD ? { writeUnits: 1, puts: 1 } : { writeUnits: Math.max(1, Math.ceil(bytes / UNIT)), puts: 0 };
