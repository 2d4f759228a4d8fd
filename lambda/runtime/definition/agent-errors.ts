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
  /** The delay of the next attempt. @default the delay of the retry policy */
  readonly retryAfter: Duration | undefined;

  constructor(message: string, options: { readonly cause?: unknown; readonly retryAfter?: Duration } = {}) {
    super('STEP_FAILED', message, { scope: 'step', cause: options.cause });
    if (options.retryAfter) toMilliseconds('`retryAfter`', options.retryAfter);
    this.retryAfter = options.retryAfter;
  }
}

/** An AGENT_MISUSED error: the agent's code used the API wrongly. It fails the run. */
export const agentMisuse = (message: string, cause?: unknown): WaitstateError =>
  new WaitstateError('AGENT_MISUSED', message, { scope: 'run', cause });

/** Converts any thrown value to an error; the error of a write to a frozen value says what to do instead. */
export function toError(thrown: unknown): Error {
  if (!(thrown instanceof Error))
    return new Error(typeof thrown === 'string' ? thrown : `Thrown: ${inspect(thrown).slice(0, 1000)}`);
  return thrown instanceof TypeError && FROZEN_WRITE.test(thrown.message) ? frozenWrite(thrown) : thrown;
}

// The messages of V8 for a write to a frozen object or array.
const FROZEN_WRITE = /read only property|not extensible|^Cannot (delete|redefine) property/;

function frozenWrite(cause: TypeError): WaitstateError {
  const error = agentMisuse(
    `The code tried to change a frozen value: ${cause.message}. \`ctx.state\`, the input and results are frozen: copy the value first, or change the state in \`ctx.update\`.`,
    cause,
  );
  // The frames of the write, so that the error leads to the line to fix.
  error.stack = String(cause.stack).replace(String(cause), () => String(error));
  return error;
}
