import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { type ErrorCode, isWaitstateError } from '../../core/errors.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import type { RetryableError } from './agent-errors.ts';

/** When a failed step is retried: exponential backoff with jitter. */
export interface RetryPolicy {
  /** The maximum number of attempts, including the first one. @default 3 */
  readonly attempts?: number;
  /** The delay after the first failure. @default 1 second */
  readonly pause?: Duration;
  /** The factor by which the delay grows with each failure. @default 2 */
  readonly factor?: number;
  /** The maximum delay. @default 5 minutes */
  readonly longestPause?: Duration;
}

/** Throws INVALID_INPUT when a retry policy has an invalid value. */
export function checkRetryPolicy({ attempts = 3, factor = 2, pause, longestPause }: RetryPolicy): void {
  if (!Number.isSafeInteger(attempts) || attempts < 1)
    throw invalidInput('`retry.attempts`', 'a whole number from 1', attempts);
  if (!(factor >= 1 && factor <= 100)) throw invalidInput('`retry.factor`', 'a number from 1 to 100', factor);
  if (pause) toMilliseconds('`retry.pause`', pause);
  if (longestPause) toMilliseconds('`retry.longestPause`', longestPause);
}

/**
 * The delay before the next attempt, or undefined when the step must not be retried. Jitter shortens the delay by up to
 * half, so that runs that failed together do not retry together.
 */
export function retryDelayMs(
  error: unknown,
  failures: number,
  policy: RetryPolicy,
  random: number,
): number | undefined {
  const { attempts = 3, factor = 2, pause = { seconds: 1 }, longestPause = { minutes: 5 } } = policy;
  if (failures >= attempts || isFatal(error) || isWaitstateError(error, ...PERMANENT_CODES)) return undefined;
  const requestedMs = isWaitstateError(error, 'STEP_FAILED')
    ? (error as Partial<RetryableError>).retryAfterMs
    : undefined;
  if (requestedMs !== undefined) return requestedMs;
  const initialMs = toMilliseconds('`retry.pause`', pause);
  const maxMs = toMilliseconds('`retry.longestPause`', longestPause);
  return Math.round(Math.min(maxMs, initialMs * factor ** (failures - 1)) * (0.5 + random / 2));
}

// A retry cannot fix wrong code or input, and must not follow a failed condition or an unknown outcome.
const PERMANENT_CODES = [
  'CONDITION_FAILED',
  'OUTCOME_UNKNOWN',
  'INVALID_INPUT',
  'UNSUPPORTED_VALUE',
  'AGENT_MISUSED',
  'SCHEMA_REFUSED',
] as const satisfies readonly ErrorCode[];

// Checked by name instead of `instanceof`: the agent may have loaded another copy of the package.
const isFatal = (error: unknown): boolean => isWaitstateError(error, 'STEP_FAILED') && error.name === 'FatalError';
