import { inspect } from 'node:util';
import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { WaitstateError } from '../../core/errors.ts';

/** Throw it in a step that must not be tried again. */
export class FatalError extends WaitstateError {
  override readonly name = 'FatalError';

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super('STEP_FAILED', message, { scope: 'step', ...options });
  }
}

/** Throw it in a step to be tried again after a time of your own, such as the Retry-After of a service. */
export class RetryableError extends WaitstateError {
  override readonly name = 'RetryableError';
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { readonly cause?: unknown; readonly retryAfter?: Duration } = {}) {
    super('STEP_FAILED', message, { scope: 'step', cause: options.cause });
    this.retryAfterMs = options.retryAfter && toMilliseconds('`retryAfter`', options.retryAfter);
  }
}

/** The error of a misuse of the context; it fails the run. */
export const agentMisuse = (message: string): WaitstateError =>
  new WaitstateError('AGENT_MISUSED', message, { scope: 'run' });

/** What was thrown, as an error: people throw strings too. */
export const toError = (thrown: unknown): Error =>
  thrown instanceof Error
    ? thrown
    : new Error(typeof thrown === 'string' ? thrown : `Thrown: ${inspect(thrown).slice(0, 1000)}`);
