import type { RunContext } from '../context.ts';
import type { HeadKeyFields } from '../format/meta.ts';
import { plaintext, type RunCipher } from './run-cipher.ts';

/** What keys are handled by; loaded only by those who encrypt. */
export const importRunKey = () => import('./run-key.ts');

/** How the bytes of a run are opened, by what its head says. */
export async function cipherFor(at: RunContext, head: HeadKeyFields): Promise<RunCipher> {
  return at.keys || head.key || head.shredded ? (await importRunKey()).unwrapCipher(at, head) : plaintext;
}
