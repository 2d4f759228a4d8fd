import { WaitstateError } from '../core/errors.ts';

const RUN_SCOPE = { scope: 'run' } as const;

export const runNotFound = ({ run, tenant }: { readonly run: string; readonly tenant: string }): WaitstateError =>
  new WaitstateError('RUN_NOT_FOUND', `Tenant "${tenant}" has no run "${run}". Check the run id and the tenant.`);

export const runDeleted = (run: string, until?: number): WaitstateError =>
  new WaitstateError(
    'RUN_DELETED',
    `Run "${run}" was deleted. Its id can be reused after the next sweep${until === undefined ? '' : ` that follows ${new Date(until).toISOString()}`}.`,
    RUN_SCOPE,
  );

export const runExpired = (run: string, lastWrite: number, retentionMs: number): WaitstateError =>
  new WaitstateError(
    'RUN_EXPIRED',
    `Run "${run}" has expired: its last write was at ${new Date(lastWrite).toISOString()}, and its retention is ${retentionMs / 1000} s. The next sweep removes it.`,
    RUN_SCOPE,
  );

export const runShredded = (run: string): WaitstateError =>
  new WaitstateError(
    'RUN_SHREDDED',
    `The key of run "${run}" was destroyed, so nobody can read the run again. You can still list and delete it.`,
    RUN_SCOPE,
  );

export const checkpointPruned = (run: string, version: number): WaitstateError =>
  new WaitstateError(
    'CHECKPOINT_PRUNED',
    `Checkpoint ${version} of run "${run}" was emptied by a prune. Use \`history\` to find checkpoints that can be loaded.`,
  );

export const damagedError = (what: string, why: string, cause?: unknown): WaitstateError =>
  new WaitstateError(
    'DAMAGED',
    `${what} is damaged: ${why}. Use \`verify\` to find out which checkpoints are intact.`,
    {
      ...RUN_SCOPE,
      cause,
    },
  );

export const formatTooNew = (what: string, format: string): WaitstateError =>
  new WaitstateError(
    'FORMAT_TOO_NEW',
    `${what} has format ${format}, which this version of Waitstate cannot read; a newer version wrote it. Update waitstate.`,
    RUN_SCOPE,
  );
