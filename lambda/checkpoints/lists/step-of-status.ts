import { hasEnded, type Status } from '../../core/status.ts';
import { versionKey } from '../../storage/keys.ts';
import type { RunContext } from '../context.ts';
import type { HeadMeta } from '../format/meta.ts';
import { type CheckpointRecord, readCheckpoint } from '../format/records.ts';
import { scanRecords } from './scan.ts';

/** The step of a head that moves: a status change without a step belongs to the step before it. */
export async function stepOfStatus(
  at: RunContext,
  { meta: before }: Pick<CheckpointRecord, 'meta'>,
  record: CheckpointRecord,
  current: HeadMeta,
  status: Status,
): Promise<Pick<HeadMeta, 'step' | 'stepNumber'>> {
  const { kind, stepNumber, step } = record.meta;
  // The name of a step is content, and a tombstone has none.
  if (kind === 'delete') return { step: undefined, stepNumber };
  // A run that undoes its steps, or is pruned, stays at the step at which it failed.
  const isUndoing = current.status === 'ENDING' && (status === 'ENDING' || hasEnded(status));
  if (isUndoing || kind === 'prune' || kind === 'shred') return { step: current.step, stepNumber: current.stepNumber };
  if (step !== undefined) return { step, stepNumber };
  const known = [before, current].find((each) => each.step !== undefined && each.stepNumber === stepNumber);
  const isFound = known !== undefined || stepNumber === 0;
  return { step: isFound ? known?.step : await findStep(at, record), stepNumber };
}

// Nearly always the second or third checkpoint before has the step.
const PAGE_SIZE = 10;

/** The step that was completed last before a checkpoint, by its history; undefined when there is none. */
async function findStep(at: RunContext, { version, meta }: CheckpointRecord): Promise<string | undefined> {
  const from = meta.restored ?? version - 1;
  const range = { from: versionKey(1), to: versionKey(from), newestFirst: true, limit: PAGE_SIZE };
  for await (const stored of scanRecords(at, range)) {
    const { step, stepNumber } = readCheckpoint(stored).meta;
    if (step !== undefined) return stepNumber === meta.stepNumber ? step : undefined;
  }
  return undefined;
}
