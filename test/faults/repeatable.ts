import type fc from 'fast-check';
import { repeats } from '../deep.ts';

/**
 * Runs properties with the same values every time, unless FC_SEED or FC_RUNS is set. `npm test` tries a fifth of the values
 * that `npm run test:deep` tries. Each round tries other values.
 */
export const repeatable = (
  numRuns: number,
  round = 0,
): Pick<fc.Parameters<unknown>, 'seed' | 'numRuns' | 'endOnFailure'> => ({
  seed: toNumber(process.env.FC_SEED) ?? 20_260_131 + round,
  numRuns: toNumber(process.env.FC_RUNS) ?? repeats(Math.ceil(numRuns / 5), numRuns),
  endOnFailure: true,
});

const toNumber = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));
