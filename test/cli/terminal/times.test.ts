import { describe, expect, it } from 'vitest';
import { formatDuration, formatRelativeTime, tryParseDuration } from '../../../cli/terminal/times.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('a duration', () => {
  it.each([
    ['0ms', 0],
    ['0ms', -5],
    ['999ms', 999],
    ['1s', 1000],
    ['1.2s', 1234],
    ['10s', 9_960],
    ['59s', 59_400],
    ['1m', 59_960],
    ['1m 30s', 90 * SECOND],
    ['1h', HOUR - 1],
    ['2h 14m', 2 * HOUR + 14 * MINUTE],
    ['1d', DAY - 1],
    ['3d 4h', 3 * DAY + 4 * HOUR],
    ['400d', 400 * DAY],
  ])('is formatted as "%s" if it has %d ms', (text, milliseconds) => {
    expect(formatDuration(milliseconds)).toBe(text);
  });

  it.each([
    [90 * SECOND, '90s'],
    [90 * MINUTE, '1h30m'],
    [3 * DAY, '3d'],
    [90 * MINUTE, '1.5h'],
    [250, '250ms'],
    [14 * DAY, '2w'],
    [undefined, ''],
    [undefined, '3'],
    [undefined, 'three days'],
    [undefined, '3d ago'],
  ])('is parsed as %s if it is written as "%s"', (milliseconds, text) => {
    expect(tryParseDuration(text)).toBe(milliseconds);
  });
});

describe('a relative time', () => {
  it.each([
    ['now', 0],
    ['now', -999],
    ['12s ago', -12 * SECOND],
    ['59m ago', -59 * MINUTE],
    ['47h ago', -47 * HOUR],
    ['in 2d', 2 * DAY - SECOND],
    ['in 3h', 3 * HOUR + 1],
    ['in 40d', 40 * DAY],
  ])('is formatted as "%s" if it is %d ms from now', (text, milliseconds) => {
    expect(formatRelativeTime(new Date(1_000_000_000_000 + milliseconds), 1_000_000_000_000)).toBe(text);
  });
});
