import { MAX_DURATION_MS } from '../core/duration.ts';
import { throwInvalidVariable } from './invalid-variable.ts';

/** The maximum in seconds: the longest duration. */
export const MAX_SECONDS = MAX_DURATION_MS / 1000;

/** The seconds in an environment variable, undefined if it is not set; rejects anything but a whole number above 0. */
export function parseSecondsVariable(name: string, found: string | undefined): number | undefined {
  const text = found?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text) && Number(text) > 0 && Number(text) <= MAX_SECONDS) return Number(text);
  return throwInvalidVariable(name, `a whole number of seconds, from 1 to ${MAX_SECONDS} (100 years)`, text);
}
