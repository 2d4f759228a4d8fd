/**
 * The CSS classes of a place on an axis from 0 to 1, rounded to a tenth of a percent. Inline styles could say it, but the
 * content security policy of pages forbids them.
 */
export function placeClass(from: number, width: number): string {
  const [x, tenthsOfX] = percentAndTenths(from);
  const [w, tenthsOfW] = percentAndTenths(width);
  return `x${x} xt${tenthsOfX} w${w} wt${tenthsOfW}`;
}

function percentAndTenths(share: number): readonly [percent: number, tenths: number] {
  const thousandths = Math.round(Math.min(1, Math.max(0, share)) * 1000);
  return [Math.floor(thousandths / 10), thousandths % 10];
}

/** The style rules of all places. */
export const placeStyles = (): string => {
  const rules = (name: string, count: number, unit: number) =>
    Array.from({ length: count }, (_, i) => `.${name}${i}{--${name}:${+(i * unit).toFixed(1)}}`);
  return [...rules('x', 101, 1), ...rules('xt', 10, 0.1), ...rules('w', 101, 1), ...rules('wt', 10, 0.1)].join('');
};
