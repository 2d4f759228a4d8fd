import { invalidInput } from '../core/invalid-input.ts';

/** Refuses a `limit` that is not a whole number from 1 to `max`. */
export function checkLimit(limit: number, max: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= max) return limit;
  throw invalidInput('`limit`', `a whole number from 1 to ${max}`, limit);
}
