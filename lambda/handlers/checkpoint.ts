import type { Contexts } from '../checkpoints/contexts.ts';
import { contextsFor } from '../checkpoints/derived-contexts.ts';
import { StaleVersionError } from '../checkpoints/stale-version-error.ts';
import { isWaitstateError } from '../core/errors.ts';
import { act } from '../protocol/actions.ts';
import { checkRequest } from '../protocol/request.ts';
import type { Observing } from '../runtime/telemetry.ts';
import type { SignedUrls } from '../storage/ports.ts';
import { s3SignedUrls } from '../storage/s3/signed-urls.ts';
import { contextsOf, wired } from './lazy-handler.ts';
import { notDone } from './log-failed-request.ts';
import { observingOf } from './powertools.ts';

export interface Checkpointing {
  readonly contexts: Contexts;
  /** For what is too large for an invocation. @default there is no way for that */
  readonly signedUrls?: SignedUrls | undefined;
  readonly observing: Observing;
}

/** What is answered: what was asked for, or why nothing was done. */
export type CheckpointAnswer = { readonly ok: true } | { readonly ok: false; readonly error: object };

/** The function that agents in any language invoke directly, to save, ask, wait, load and end. */
export const createCheckpoint =
  ({ contexts, signedUrls, observing }: Checkpointing) =>
  (event: unknown): Promise<CheckpointAnswer> =>
    observing.invocation(async () => {
      try {
        const request = checkRequest(event);
        const acting = { contexts: contextsFor(contexts, request.tenant), signedUrls, observing };
        return { ...(await act(acting, request)), ok: true };
      } catch (error) {
        notDone(observing, error);
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

export const handler = wired('checkpoint', (environment) =>
  createCheckpoint({
    contexts: contextsOf(environment),
    signedUrls: s3SignedUrls(environment),
    observing: observingOf('checkpoint', environment),
  }),
);
