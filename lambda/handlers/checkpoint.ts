import type { ContextFactory } from '../checkpoints/engine.ts';
import { StaleVersionError, withTenant } from '../checkpoints/engine.ts';
import { isWaitstateError } from '../core/errors.ts';
import { performAction } from '../protocol/actions.ts';
import { parseRequest } from '../protocol/request.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { SignedUrls } from '../storage/ports.ts';
import { s3SignedUrls } from '../storage/s3/signed-urls.ts';
import { contextFactoryFrom, lazyHandler } from './lazy-handler.ts';
import { logFailedRequest } from './log-failed-request.ts';
import { powertoolsTelemetry } from './powertools.ts';

export interface CheckpointHandlerOptions {
  readonly contexts: ContextFactory;
  /** For what is too large for an invocation. @default there is no way for that */
  readonly signedUrls?: SignedUrls | undefined;
  readonly telemetry: Telemetry;
}

/** What is answered: what was asked for, or why nothing was done. */
export type CheckpointResponse = { readonly ok: true } | { readonly ok: false; readonly error: object };

/** The function that agents in any language invoke directly, to save, ask, wait, load and end. */
export const createCheckpointHandler =
  ({ contexts, signedUrls, telemetry }: CheckpointHandlerOptions) =>
  (event: unknown): Promise<CheckpointResponse> =>
    telemetry.traceInvocation(async () => {
      try {
        const request = parseRequest(event);
        const acting = { contexts: withTenant(contexts, request.tenant), signedUrls, telemetry: telemetry };
        return { ...(await performAction(acting, request)), ok: true };
      } catch (error) {
        logFailedRequest(telemetry, error);
        return { ok: false, error: errorJson(error) };
      }
    });

function errorJson(error: unknown): object {
  if (!isWaitstateError(error))
    return { code: 'UNEXPECTED', message: 'Something unexpected went wrong. The log of this function says what.' };
  const found = error instanceof StaleVersionError ? error.found : undefined;
  const { code, message } = error;
  return { code, message, ...(found && { found: { version: found.version, status: found.status } }) };
}

export const handler = lazyHandler('checkpoint', (environment) =>
  createCheckpointHandler({
    contexts: contextFactoryFrom(environment),
    signedUrls: s3SignedUrls(environment),
    telemetry: powertoolsTelemetry('checkpoint', environment),
  }),
);
