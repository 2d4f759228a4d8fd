import { HoldpointError } from './errors.ts';

/** The error for an argument: what it must be, what came, and nothing was done. */
export function refused(argument: string, expected: string, found: unknown): HoldpointError {
  const shown =
    typeof found === 'string' || (typeof found === 'object' && found) ? JSON.stringify(found) : String(found);
  return new HoldpointError('INVALID_INPUT', `${argument} must be ${expected}; found ${shown.slice(0, 80)}.`);
}
