import { invalidInput } from './invalid-input.ts';

/** A length of time: its parts are added up. */
export interface Duration {
  readonly days?: number;
  readonly hours?: number;
  readonly minutes?: number;
  readonly seconds?: number;
  readonly milliseconds?: number;
}

const PARTS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1000, milliseconds: 1 } as const;

// Above this a date is no longer one.
const MOST = 100 * 366 * PARTS.days;

/** A duration in milliseconds; refuses what is none. */
export function toMilliseconds(argument: string, duration: Duration): number {
  const parts = Object.entries(Object(duration)) as [keyof typeof PARTS, unknown][];
  const known = parts.filter(([, value]) => value !== undefined);
  const fits = known.every(([part, value]) => Object.hasOwn(PARTS, part) && Number.isFinite(value));
  const total = known.reduce((sum, [part, value]) => sum + PARTS[part] * Number(value), 0);
  if (typeof duration !== 'object' || !fits || known.length === 0 || !(total >= 0 && total <= MOST))
    throw invalidInput(argument, 'a duration of at most 100 years, such as { hours: 1, minutes: 30 }', duration);
  return Math.round(total);
}
