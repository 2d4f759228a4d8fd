import { versionKey } from '../../storage/keys.ts';
import type { RunContext } from '../context.ts';
import { type CheckpointRecord, readCheckpoint } from '../format/records.ts';
import { scanRecords } from './scan.ts';

// Nearly always the second or third checkpoint before has the step.
const PAGE_SIZE = 10;

/** The step that was completed last before a checkpoint, by its history; undefined when there is none. */
export async function findStep(at: RunContext, { version, meta }: CheckpointRecord): Promise<string | undefined> {
  const from = meta.restored ?? version - 1;
  const range = { from: versionKey(1), to: versionKey(from), newestFirst: true, limit: PAGE_SIZE };
  for await (const stored of scanRecords(at, range)) {
    const { step, stepNumber } = readCheckpoint(stored).meta;
    if (step !== undefined) return stepNumber === meta.stepNumber ? step : undefined;
  }
  return undefined;
}
