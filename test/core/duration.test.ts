import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Duration, MAX_DURATION_MS, toMilliseconds, toPositiveMs } from '../../lambda/core/duration.ts';
import { toDuration } from '../../lambda/core/to-duration.ts';

describe('a duration', () => {
  test.each<[Duration, number]>([
    [{ days: 1, hours: 2, minutes: 3, seconds: 4, milliseconds: 5 }, 93_784_005],
    [{ hours: 1, minutes: -30 }, 1_800_000],
    [{ seconds: 0.0015 }, 2],
    [{ days: 36_600 }, MAX_DURATION_MS],
    [{ seconds: 0 }, 0],
    [{ days: undefined, hours: 1 } as unknown as Duration, 3_600_000],
  ])('is the sum of its parts, such as %o', (duration, milliseconds) => {
    expect(toMilliseconds('`timeout`', duration)).toBe(milliseconds);
  });

  test.each<[unknown]>([
    [undefined],
    [null],
    [90],
    ['1h'],
    [[]],
    [[5]],
    [{}],
    [{ days: undefined }],
    [{ weeks: 1 }],
    [{ hours: 1, toString: 1 }],
    [{ hours: '1' }],
    [{ hours: true, minutes: 1 }],
    [{ hours: 1n }],
    [{ hours: Number.NaN }],
    [{ hours: Number.POSITIVE_INFINITY }],
    [{ hours: -1 }],
    [{ days: 36_600, milliseconds: 1 }],
  ])('is rejected if it is %o', (duration) => {
    expect(() => toMilliseconds('`timeout`', duration as Duration)).toThrow(
      /^`timeout` must be a duration up to 100 years, such as \{ hours: 12 \}; found/,
    );
  });

  test('is optional or above 0 where 0 has no meaning', () => {
    expect(toPositiveMs('`retention`', undefined)).toBeUndefined();
    expect(toPositiveMs('`retention`', { milliseconds: 1 })).toBe(1);
    expect(() => toPositiveMs('`retention`', { milliseconds: 0.4 })).toThrow('`retention` must be longer than 0');
  });

  test('is made of as large parts as possible', () => {
    expect(toDuration(129_600_000)).toEqual({ days: 1, hours: 12 });
    expect(toDuration(60_001)).toEqual({ minutes: 1, milliseconds: 1 });
    const whole = fc.integer({ min: 1, max: MAX_DURATION_MS });
    fc.assert(
      fc.property(whole, (ms) => toMilliseconds('`retention`', toDuration(ms)) === ms),
      { seed: 42 },
    );
  });
});
