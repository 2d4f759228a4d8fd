import type { CheckpointKind, LoadedCheckpoint, RunContext } from '../../checkpoints/engine.ts';
import { firstRecords, loadCheckpoint, readCheckpoint } from '../../checkpoints/engine.ts';
import { isWaitstateError, RUN_GONE_CODES } from '../../core/errors.ts';
import { hasEnded } from '../../core/status.ts';
import { versionKey } from '../../storage/keys.ts';

/** Somebody else has the run now; what this invocation knows is worth nothing any more. */
export class Fenced extends Error {}

// What may be appended to a run while it runs, without its lease.
const HARMLESS: ReadonlySet<CheckpointKind> = new Set(['save', 'prune', 'cancel']);

/** The error to throw for one of the storage: a run that is gone is as one that somebody else has. */
export const fencedIfGone = (error: unknown): unknown =>
  isWaitstateError(error, ...RUN_GONE_CODES) ? new Fenced('The run is gone.', { cause: error }) : error;

/** Reads what somebody else appended: an edit or a cancel is what we write on, anything else ends this invocation. */
export async function catchUp(
  at: RunContext,
  known: LoadedCheckpoint,
): Promise<{ readonly newest: LoadedCheckpoint; readonly isCancelled: boolean }> {
  const newest = await loadCheckpoint(at).catch((error) => {
    throw fencedIfGone(error);
  });
  const range = { from: versionKey(known.record.version + 1), to: versionKey(newest.record.version) };
  const between = (await firstRecords(at, range)).map((stored) => readCheckpoint(stored).meta);
  const sameLife = newest.head.meta.born === known.head.meta.born;
  if (!sameLife || !between.every(({ kind }) => HARMLESS.has(kind)) || hasEnded(newest.head.meta.status))
    throw new Fenced('Somebody else has the run.');
  return { newest, isCancelled: between.some(({ kind }) => kind === 'cancel') };
}
