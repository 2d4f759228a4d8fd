import {
  type CheckpointKind,
  firstRecords,
  type LoadedCheckpoint,
  loadCheckpoint,
  type RunContext,
  readCheckpoint,
} from '../../checkpoints/engine.ts';
import { isWaitstateError, RUN_GONE_CODES } from '../../core/errors.ts';
import { hasEnded } from '../../core/status.ts';
import { versionKey } from '../../storage/keys.ts';

/** This invocation has lost the run: another one claimed it, or the run ended, was rewound or is gone. */
export class Fenced extends Error {}

// The checkpoints that others may append to a run while an invocation holds its lease.
const LEASELESS_KINDS: ReadonlySet<CheckpointKind> = new Set(['save', 'prune', 'cancel']);

/** Turns an error that means that the run is gone into `Fenced`; returns any other error unchanged. */
export const fencedIfGone = (error: unknown): unknown =>
  isWaitstateError(error, ...RUN_GONE_CODES) ? new Fenced('The run is gone.', { cause: error }) : error;

/** Loads an edit, a prune or a cancel that others appended; throws `Fenced` if they appended anything else. */
export async function catchUp(
  at: RunContext,
  known: LoadedCheckpoint,
): Promise<{ readonly newest: LoadedCheckpoint; readonly isCancelled: boolean }> {
  const newest = await loadCheckpoint(at).catch((error) => {
    throw fencedIfGone(error);
  });
  const range = { from: versionKey(known.record.version + 1), to: versionKey(newest.record.version) };
  const between = (await firstRecords(at, range)).map((stored) => readCheckpoint(stored).meta);
  // A run that was deleted and started again under the same id is another run.
  const isSameRun = newest.head.meta.uid === known.head.meta.uid;
  if (!isSameRun || !between.every(({ kind }) => LEASELESS_KINDS.has(kind)) || hasEnded(newest.head.meta.status))
    throw new Fenced('Another invocation claimed the run, or the run ended, was rewound or was started again.');
  return { newest, isCancelled: between.some(({ kind }) => kind === 'cancel') };
}
