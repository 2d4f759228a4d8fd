import type { CheckpointSummary } from '../checkpoints/engine.ts';

/** The approximate cost of writing a checkpoint on AWS. */
export interface WriteCost {
  /** DynamoDB write units: one for each KB of the record. */
  readonly writeUnits: number;
  /** PUT requests to S3. */
  readonly puts: number;
}

// Larger content is stored on S3, and the record is small.
const MAX_RECORD_BYTES = 9 * 1024;
const UNIT_BYTES = 1024;

/**
 * Estimates the cost of a checkpoint on AWS from its size. Indexes, and the head that a change of status writes in the
 * same transaction, cost extra.
 */
export const writeCost = ({ bytes }: Pick<CheckpointSummary, 'bytes'>): WriteCost =>
  bytes > MAX_RECORD_BYTES
    ? { writeUnits: 1, puts: 1 }
    : { writeUnits: Math.max(1, Math.ceil(bytes / UNIT_BYTES)), puts: 0 };
