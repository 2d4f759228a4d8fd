import { describe, expect, it } from 'vitest';
import { formatBytes } from '../../lambda/console/document/format-bytes.ts';
import { formatDateTime, formatDuration, formatRelativeTime } from '../../lambda/console/format-time.ts';

const SECOND = 1000;
const HOUR = 3600 * SECOND;

describe('a formatted value', () => {
  it.each([
    [0, '0 ms'],
    [999.4, '999 ms'],
    [1000, '1 s'],
    [59_999, '59.9 s'],
    [60_000, '1 min'],
    [200_000, '3 min 20 s'],
    [2 * HOUR + 300_000, '2 h 5 min'],
    [52 * HOUR, '2 d 4 h'],
    [-5, '0 ms'],
  ])('shows a duration of %d milliseconds as %s', (milliseconds, words) => {
    expect(formatDuration(milliseconds)).toBe(words);
  });

  it.each([
    [-9, 'just now'],
    [9, 'just now'],
    [-30, '30 s ago'],
    [90, 'in 2 min'],
    [2 * 24 * 3600 - 1, 'in 2 d'],
    [-47 * 3600, '47 h ago'],
    [-3 * 3600, '3 h ago'],
    [50 * 3600, 'in 2 d'],
    [-4000 * 24 * 3600, '4,000 d ago'],
  ])('shows a time %d seconds from now as %s', (seconds, words) => {
    expect(formatRelativeTime(seconds * SECOND, 0)).toBe(words);
  });

  it('shows an exact time in UTC or in the time zone of the reader', () => {
    const moment = Date.UTC(2026, 10, 17, 16, 45);
    expect(formatDateTime(moment)).toBe('17 Nov 2026, 16:45 UTC');
    expect(formatDateTime(moment, 'America/New_York')).toBe('17 Nov 2026, 11:45');
  });

  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 KB'],
    [48_213, '48 KB'],
    [3_100_000, '3.1 MB'],
  ])('shows %d bytes as %s', (bytes, words) => {
    expect(formatBytes(bytes)).toBe(words);
  });
});
