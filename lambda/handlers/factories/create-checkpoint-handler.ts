import { type ContextFactory, StaleVersionError, withTenant } from '../../checkpoints/engine.ts';
import { isWaitstateError } from '../../core/errors.ts';
import { performAction } from '../../protocol/actions.ts';
import { parseRequest } from '../../protocol/request.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { SignedUrls } from '../../storage/ports.ts';
import { logFailedRequest } from '../log-failed-request.ts';

export interface CheckpointHandlerOptions {
  readonly contexts: ContextFactory;
  /** Transfers states that are too large for an invocation. @default they are refused */
  readonly signedUrls?: SignedUrls | undefined;
  readonly telemetry: Telemetry;
}

/** The result of the action, or the error that prevented it. */
export type CheckpointResponse = { readonly ok: true } | { readonly ok: false; readonly error: object };

/** Creates the handler that agents in any language invoke to save, load, request approvals, wait and finish. */
export const createCheckpointHandler =
  ({ contexts, signedUrls, telemetry }: CheckpointHandlerOptions) =>
  (event: unknown): Promise<CheckpointResponse> =>
    telemetry.runInvocation(async () => {
      try {
        const request = parseRequest(event);
        const options = { contexts: withTenant(contexts, request.tenant), signedUrls, telemetry };
        return { ...(await performAction(options, request)), ok: true };
      } catch (error) {
        logFailedRequest(telemetry, error);
        return { ok: false, error: toErrorJson(error) };
      }
    });

function toErrorJson(error: unknown): object {
  if (!isWaitstateError(error))
    return { code: 'UNEXPECTED', message: 'An unexpected error occurred. See the log of this function.' };
  const found = error instanceof StaleVersionError ? error.found : undefined;
  const { code, message } = error;
  return { code, message, ...(found && { found: { version: found.version, status: found.status } }) };
}
