/** The time of the stores of a test; it advances only when the test changes it. */
export interface Clock {
  now: number;
  readonly read: () => number;
}

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export function clockAt(now = Date.UTC(2030, 0, 1)): Clock {
  const clock: Clock = { now, read: () => clock.now };
  return clock;
}
