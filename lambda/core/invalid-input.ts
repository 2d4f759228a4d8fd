import { WaitstateError } from './errors.ts';

/** The error for an invalid argument: what was expected and what was found. */
export function invalidInput(argument: string, expected: string, found: unknown): WaitstateError {
  const text = formatValue(found);
  const truncated = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  return new WaitstateError('INVALID_INPUT', `${argument} must be ${expected}; found ${truncated}.`);
}

function formatValue(value: unknown): string {
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return String(value);
  try {
    return JSON.stringify(value) ?? 'an object';
  } catch {
    // It contains a BigInt, or refers to itself.
    return 'an object';
  }
}
