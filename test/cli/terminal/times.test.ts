import { describe, expect, it } from 'vitest';
import { formatDuration, formatRelativeTime, tryParseDuration } from '../../../cli/terminal/times.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('a duration', () => {
  it.each([
    [0, '0ms'],
    [-5, '0ms'],
    [999, '999ms'],
    [1000, '1s'],
    [1234, '1.2s'],
    [9_960, '10s'],
    [59_400, '59s'],
    [59_960, '1m'],
    [90 * SECOND, '1m 30s'],
    [HOUR - 1, '1h'],
    [2 * HOUR + 14 * MINUTE, '2h 14m'],
    [DAY - 1, '1d'],
    [3 * DAY + 4 * HOUR, '3d 4h'],
    [400 * DAY, '400d'],
  ])('of %d ms is formatted as %s', (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text);
  });

  it.each([
    ['90s', 90 * SECOND],
    ['1h30m', 90 * MINUTE],
    ['3d', 3 * DAY],
    ['1.5h', 90 * MINUTE],
    ['250ms', 250],
    ['2w', 14 * DAY],
    ['', undefined],
    ['3', undefined],
    ['three days', undefined],
    ['3d ago', undefined],
  ])('written as "%s" is parsed as %s', (text, milliseconds) => {
    expect(tryParseDuration(text)).toBe(milliseconds);
  });
});

describe('a relative time', () => {
  it.each([
    [0, 'now'],
    [-999, 'now'],
    [-12 * SECOND, '12s ago'],
    [-59 * MINUTE, '59m ago'],
    [-47 * HOUR, '47h ago'],
    [2 * DAY - SECOND, 'in 2d'],
    [3 * HOUR + 1, 'in 3h'],
    [40 * DAY, 'in 40d'],
  ])('of %d ms from now is formatted as %s', (milliseconds, text) => {
    expect(formatRelativeTime(new Date(1_000_000_000_000 + milliseconds), 1_000_000_000_000)).toBe(text);
  });
});
