import { inspect } from 'node:util';
import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { WaitstateError } from '../../core/errors.ts';

/** Throw it in a step to fail the step without a retry. */
export class FatalError extends WaitstateError {
  override readonly name = 'FatalError';

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super('STEP_FAILED', message, { scope: 'step', ...options });
  }
}

/** Throw it in a step to set the delay of the next attempt, for example from a service's Retry-After header. */
export class RetryableError extends WaitstateError {
  override readonly name = 'RetryableError';
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { readonly cause?: unknown; readonly retryAfter?: Duration } = {}) {
    super('STEP_FAILED', message, { scope: 'step', cause: options.cause });
    this.retryAfterMs = options.retryAfter && toMilliseconds('`retryAfter`', options.retryAfter);
  }
}

/** An AGENT_MISUSED error: the agent's code used the API wrongly. It fails the run. */
export const agentMisuse = (message: string): WaitstateError =>
  new WaitstateError('AGENT_MISUSED', message, { scope: 'run' });

/** Converts any thrown value to an error. */
export const toError = (thrown: unknown): Error =>
  thrown instanceof Error
    ? thrown
    : new Error(typeof thrown === 'string' ? thrown : `Thrown: ${inspect(thrown).slice(0, 1000)}`);
