import { WaitstateError } from '../core/errors.ts';

/** Throws the error for an invalid environment variable. */
export function throwInvalidVariable(name: string, expected: string, found: string): never {
  const truncated = found.length > 200 ? `${found.slice(0, 200)}…` : found;
  throw new WaitstateError(
    'INVALID_INPUT',
    `The environment variable ${name} must be ${expected}; found ${truncated}. Set it on the function, then deploy again.`,
  );
}

/** The parsed JSON of an environment variable; rejects invalid JSON. */
export function parseJsonVariable(name: string, expected: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return throwInvalidVariable(name, expected, text);
  }
}
