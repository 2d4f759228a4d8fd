import { WaitstateError } from '../core/errors.ts';

const RUN_SCOPE = { scope: 'run' } as const;

export const runNotFound = ({ run, tenant }: { readonly run: string; readonly tenant: string }): WaitstateError =>
  new WaitstateError('RUN_NOT_FOUND', `There is no run "${run}" of tenant "${tenant}". Check its id, and whose it is.`);

export const runDeleted = (run: string, until?: number): WaitstateError =>
  new WaitstateError(
    'RUN_DELETED',
    `Run "${run}" was deleted. Its id is free again after a sweep${until === undefined ? '' : ` after ${new Date(until).toISOString()}`}.`,
    RUN_SCOPE,
  );

export const runExpired = (run: string, lastWrite: number, retentionMs: number): WaitstateError =>
  new WaitstateError(
    'RUN_EXPIRED',
    `Run "${run}" was last written to ${new Date(lastWrite).toISOString()} and is kept for ${retentionMs / 1000} s after that; a sweep removes it.`,
    RUN_SCOPE,
  );

export const runShredded = (run: string): WaitstateError =>
  new WaitstateError(
    'RUN_SHREDDED',
    `The key of run "${run}" was destroyed; nobody can read it again. It can still be listed and deleted.`,
    RUN_SCOPE,
  );

export const checkpointPruned = (run: string, version: number): WaitstateError =>
  new WaitstateError(
    'CHECKPOINT_PRUNED',
    `Checkpoint ${version} of run "${run}" was emptied by a prune; only its place in history is left. \`history\` shows which can be loaded.`,
  );

export const damagedError = (what: string, why: string, cause?: unknown): WaitstateError =>
  new WaitstateError('DAMAGED', `${what} is damaged: ${why}. \`verify\` shows how far the run can be trusted.`, {
    ...RUN_SCOPE,
    cause,
  });

export const formatTooNew = (what: string, format: string): WaitstateError =>
  new WaitstateError(
    'FORMAT_TOO_NEW',
    `${what} has format ${format}, which this Waitstate does not read: a newer one wrote it. Update waitstate.`,
    RUN_SCOPE,
  );
