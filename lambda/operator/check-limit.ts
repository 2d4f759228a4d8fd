import { invalidInput } from '../core/invalid-input.ts';

/** How many somebody may ask for at once: from 1 to the most that a page holds. */
export function checkLimit(limit: number, most: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= most) return limit;
  throw invalidInput('`limit`', `a whole number from 1 to ${most}`, limit);
}
