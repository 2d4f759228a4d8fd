import type { RunContext } from '../context.ts';
import type { HeadKeyFields } from '../format/meta.ts';
import { plaintext, type RunCipher } from './run-cipher.ts';

/** Loads the code for data keys, which only encrypted runs need. */
export const importRunKey = () => import('./run-key.ts');

/** The cipher of a run, according to its head. */
export async function cipherFor(at: RunContext, head: HeadKeyFields): Promise<RunCipher> {
  return at.keys || head.key || head.shredded ? (await importRunKey()).unwrapCipher(at, head) : plaintext;
}
