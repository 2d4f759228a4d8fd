import { type Duration, UNIT_MS } from './duration.ts';

/** Milliseconds as a duration, in as large parts as possible: 129,600,000 is { days: 1, hours: 12 }. */
export function toDuration(milliseconds: number): Duration {
  let rest = milliseconds;
  const parts = Object.entries(UNIT_MS).map(([unit, unitMs]) => {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    return [unit, count] as const;
  });
  return Object.fromEntries(parts.filter(([, count]) => count > 0));
}
