import { refuse } from './refuse.ts';

/** The longest time that is taken, in seconds: more than three thousand years, and eleven digits, as many as a store takes. */
export const MOST_SECONDS = 99_999_999_999;

/** The seconds that a variable of the environment says, if it is set; refuses what is no whole number above 0. */
export function wholeSeconds(name: string, found: string | undefined): number | undefined {
  const text = found?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text) && Number(text) > 0 && Number(text) <= MOST_SECONDS) return Number(text);
  return refuse(name, `a whole number of seconds, from 1 to ${MOST_SECONDS}`, text);
}
