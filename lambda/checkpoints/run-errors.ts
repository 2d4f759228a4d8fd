import { WaitstateError } from '../core/errors.ts';

const RUN_SCOPE = { scope: 'run' } as const;

export const runNotFound = ({ run, tenant }: { readonly run: string; readonly tenant: string }): WaitstateError =>
  new WaitstateError('RUN_NOT_FOUND', `Tenant "${tenant}" has no run "${run}". Check the run id and the tenant.`);

export const runDeleted = (run: string, until?: number): WaitstateError =>
  new WaitstateError(
    'RUN_DELETED',
    `Run "${run}" was deleted. Its id is free after the first sweep${until === undefined ? '' : ` after ${new Date(until).toISOString()}`}.`,
    RUN_SCOPE,
  );

export const runExpired = (run: string, lastWrite: number, retentionMs: number): WaitstateError =>
  new WaitstateError(
    'RUN_EXPIRED',
    `Run "${run}" has expired: it was last written at ${new Date(lastWrite).toISOString()} and kept for ${retentionMs / 1000} s. A sweep removes it.`,
    RUN_SCOPE,
  );

export const runShredded = (run: string): WaitstateError =>
  new WaitstateError(
    'RUN_SHREDDED',
    `The key of run "${run}" was destroyed. The run can be listed and deleted, but never read again.`,
    RUN_SCOPE,
  );

export const checkpointPruned = (run: string, version: number): WaitstateError =>
  new WaitstateError(
    'CHECKPOINT_PRUNED',
    `Checkpoint ${version} of run "${run}" was pruned. \`history\` lists the checkpoints that can be loaded.`,
  );

export const damagedError = (what: string, why: string, cause?: unknown): WaitstateError =>
  new WaitstateError('DAMAGED', `${what} is damaged: ${why}. \`verify\` shows which checkpoints are intact.`, {
    ...RUN_SCOPE,
    cause,
  });

export const formatTooNew = (what: string, format: string): WaitstateError =>
  new WaitstateError(
    'FORMAT_TOO_NEW',
    `${what} has format ${format}, which a newer version of Waitstate wrote. Update waitstate.`,
    RUN_SCOPE,
  );
