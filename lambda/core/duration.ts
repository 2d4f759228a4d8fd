import { invalidInput } from './invalid-input.ts';

/** A length of time: the sum of its parts. */
export interface Duration {
  readonly days?: number;
  readonly hours?: number;
  readonly minutes?: number;
  readonly seconds?: number;
  readonly milliseconds?: number;
}

const UNIT_MS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1000, milliseconds: 1 } as const;

// A time this far in the future is still a valid Date.
const MAX_DURATION_MS = 100 * 366 * UNIT_MS.days;

/** A duration in milliseconds; rejects an invalid one. */
export function toMilliseconds(argument: string, duration: Duration): number {
  const parts = Object.entries(Object(duration)) as [keyof typeof UNIT_MS, unknown][];
  const given = parts.filter(([, value]) => value !== undefined);
  const isValid = given.every(([part, value]) => Object.hasOwn(UNIT_MS, part) && Number.isFinite(value));
  const total = given.reduce((sum, [part, value]) => sum + UNIT_MS[part] * Number(value), 0);
  if (typeof duration !== 'object' || !isValid || given.length === 0 || !(total >= 0 && total <= MAX_DURATION_MS))
    throw invalidInput(argument, 'a duration of at most 100 years, such as { hours: 1, minutes: 30 }', duration);
  return Math.round(total);
}
