import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { type ErrorCode, isWaitstateError } from '../../core/errors.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import type { RetryableError } from './agent-errors.ts';

/** When a failed step is retried: exponential backoff with jitter. */
export interface RetryPolicy {
  /** The maximum number of attempts, including the first one. @default 3 */
  readonly maxAttempts?: number;
  /** The delay after the first failure. @default 1 second */
  readonly initialDelay?: Duration;
  /** The factor by which the delay grows with each failure. @default 2 */
  readonly backoffRate?: number;
  /** The maximum delay. @default 5 minutes */
  readonly maxDelay?: Duration;
}

/** Throws INVALID_INPUT when a retry policy has an invalid value. */
export function checkRetryPolicy({ maxAttempts = 3, backoffRate = 2, initialDelay, maxDelay }: RetryPolicy): void {
  if (!Number.isSafeInteger(maxAttempts) || maxAttempts < 1)
    throw invalidInput('`retry.maxAttempts`', 'a whole number from 1', maxAttempts);
  if (!(backoffRate >= 1 && backoffRate <= 100))
    throw invalidInput('`retry.backoffRate`', 'a number from 1 to 100', backoffRate);
  if (initialDelay) toMilliseconds('`retry.initialDelay`', initialDelay);
  if (maxDelay) toMilliseconds('`retry.maxDelay`', maxDelay);
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
  const { maxAttempts = 3, backoffRate = 2, initialDelay = { seconds: 1 }, maxDelay = { minutes: 5 } } = policy;
  if (failures >= maxAttempts || isFatal(error) || isWaitstateError(error, ...PERMANENT_CODES)) return undefined;
  const { retryAfter } = (isWaitstateError(error, 'STEP_FAILED') ? error : {}) as Partial<RetryableError>;
  if (retryAfter) return toMilliseconds('`retryAfter`', retryAfter);
  const initialMs = toMilliseconds('`retry.initialDelay`', initialDelay);
  const maxMs = toMilliseconds('`retry.maxDelay`', maxDelay);
  return Math.round(Math.min(maxMs, initialMs * backoffRate ** (failures - 1)) * (0.5 + random / 2));
}

// A retry cannot fix wrong code or input, and must not follow a failed condition or an unknown outcome.
const PERMANENT_CODES = [
  'CONDITION_FAILED',
  'OUTCOME_UNKNOWN',
  'INVALID_INPUT',
  'UNSUPPORTED_VALUE',
  'RECORD_TOO_LARGE',
  'AGENT_MISUSED',
  'SCHEMA_REFUSED',
] as const satisfies readonly ErrorCode[];

// Checked by name instead of `instanceof`: the agent may have loaded another copy of the package.
const isFatal = (error: unknown): boolean => isWaitstateError(error, 'STEP_FAILED') && error.name === 'FatalError';
