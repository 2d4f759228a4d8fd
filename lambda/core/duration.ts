import { invalidInput } from './invalid-input.ts';

/** A length of time: the sum of its parts. */
export interface Duration {
  readonly days?: number;
  readonly hours?: number;
  readonly minutes?: number;
  readonly seconds?: number;
  readonly milliseconds?: number;
}

/** The parts of a duration in milliseconds, the largest first. */
export const UNIT_MS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1000, milliseconds: 1 } as const;

/** The longest duration, 100 years of 366 days: a time this far in the future is still a valid Date. */
export const MAX_DURATION_MS = 3_162_240_000_000;

/** A duration in milliseconds; rejects an invalid one. */
export function toMilliseconds(argument: string, duration: Duration): number {
  const parts = Object.entries(duration ?? {}).filter(([, value]) => value !== undefined);
  // An unknown part has no unit, so the sum is not a number.
  const sum = (total: number, [part, value]: [string, unknown]) =>
    typeof value === 'number' ? total + UNIT_MS[part as keyof Duration] * value : Number.NaN;
  const total = parts.reduce(sum, 0);
  if (parts[0] && total >= 0 && total <= MAX_DURATION_MS) return Math.round(total);
  throw invalidInput(argument, 'a duration up to 100 years, such as { hours: 12 }', duration);
}

/** An optional duration in milliseconds; rejects one of less than a millisecond. */
export function toPositiveMs(argument: string, duration: Duration | undefined): number | undefined {
  if (duration === undefined) return undefined;
  const milliseconds = toMilliseconds(argument, duration);
  if (milliseconds < 1) throw invalidInput(argument, 'longer than 0', duration);
  return milliseconds;
}
