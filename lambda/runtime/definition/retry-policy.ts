import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { type ErrorCode, isWaitstateError } from '../../core/errors.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import type { RetryableError } from './agent-errors.ts';

/** How often and how soon a step that failed is tried again. */
export interface RetryPolicy {
  /** How often the step runs at most. @default 3 */
  readonly attempts?: number;
  /** The pause after the first failure. @default 1 second */
  readonly pause?: Duration;
  /** By how much each pause is longer than the one before. @default 2 */
  readonly factor?: number;
  /** The longest pause. @default 5 minutes */
  readonly longestPause?: Duration;
}

/** Refuses a policy that is none. */
export function checkRetryPolicy({ attempts = 3, factor = 2, pause, longestPause }: RetryPolicy): void {
  if (!Number.isSafeInteger(attempts) || attempts < 1)
    throw invalidInput('`retry.attempts`', 'a whole number from 1', attempts);
  if (!(factor >= 1 && factor <= 100)) throw invalidInput('`retry.factor`', 'a number from 1 to 100', factor);
  if (pause) toMilliseconds('`retry.pause`', pause);
  if (longestPause) toMilliseconds('`retry.longestPause`', longestPause);
}

/**
 * How long to wait before the next attempt, or undefined when the failure is final. The pause grows with each failure
 * and is shortened by chance, so that many runs that failed together do not come back together.
 */
export function retryDelayMs(
  error: unknown,
  failures: number,
  policy: RetryPolicy,
  chance: number,
): number | undefined {
  const { attempts = 3, factor = 2, pause = { seconds: 1 }, longestPause = { minutes: 5 } } = policy;
  if (failures >= attempts || isFatal(error) || isWaitstateError(error, ...FINAL)) return undefined;
  const asked = isWaitstateError(error, 'STEP_FAILED') ? (error as Partial<RetryableError>).retryAfterMs : undefined;
  if (asked !== undefined) return asked;
  const first = toMilliseconds('`retry.pause`', pause);
  const longest = toMilliseconds('`retry.longestPause`', longestPause);
  return Math.round(Math.min(longest, first * factor ** (failures - 1)) * (0.5 + chance / 2));
}

// Trying again cannot help where the code or its input is wrong, and must not where the answer is clear, or nobody knows it.
const FINAL = [
  'CONDITION_FAILED',
  'OUTCOME_UNKNOWN',
  'INVALID_INPUT',
  'UNSUPPORTED_VALUE',
  'AGENT_MISUSED',
  'SCHEMA_REFUSED',
] as const satisfies readonly ErrorCode[];

// By its name, which is written out: the agent may have another copy of the package.
const isFatal = (error: unknown): boolean => isWaitstateError(error, 'STEP_FAILED') && error.name === 'FatalError';
