import { refuse } from './refuse.ts';

/** The seconds that a variable of the environment says, if it is set; refuses what is no whole number above 0. */
export function wholeSeconds(name: string, found: string | undefined): number | undefined {
  const text = found?.trim();
  if (!text) return undefined;
  // Eleven digits are more than three thousand years, and the most that a store takes.
  if (/^\d{1,11}$/.test(text) && Number(text) > 0) return Number(text);
  return refuse(name, 'a whole number of seconds above 0, of at most 11 digits', text);
}
