import { throwInvalidVariable } from './invalid-variable.ts';

/** The maximum in seconds: more than three thousand years, and eleven digits, the limit of a store's retention. */
export const MAX_SECONDS = 99_999_999_999;

/** The seconds in an environment variable, undefined if it is not set; rejects anything but a whole number above 0. */
export function parseSecondsVariable(name: string, found: string | undefined): number | undefined {
  const text = found?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text) && Number(text) > 0 && Number(text) <= MAX_SECONDS) return Number(text);
  return throwInvalidVariable(name, `a whole number of seconds, from 1 to ${MAX_SECONDS}`, text);
}
