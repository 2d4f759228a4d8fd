const CLASSES_PER_DECADE = 10;
const MAX_CLASS = 80;

/**
 * The CSS class of a duration in milliseconds. It sets `--ms` to the duration, rounded to 12 %, from 1 ms to 28 hours.
 * Inline styles could say it exactly, but the content security policy of pages forbids them.
 */
export function durationClass(milliseconds: number): string {
  const number = Math.round(Math.log10(Math.max(1, milliseconds)) * CLASSES_PER_DECADE);
  return `d${Math.min(number, MAX_CLASS)}`;
}

/** The style rules of all duration classes. */
export const durationStyles = (): string =>
  Array.from({ length: MAX_CLASS + 1 }, (_, number) => {
    const milliseconds = Number((10 ** (number / CLASSES_PER_DECADE)).toPrecision(3));
    return `.d${number}{--ms:${milliseconds}}`;
  }).join('');
