import { expect, test } from 'vitest';
import { percentile } from '../../bench/load/latencies.ts';
import { slope } from '../../bench/load/memory.ts';

test('percentile and slope give the known values of small samples', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);
  expect([50, 90, 99, 100].map((share) => percentile(hundred, share))).toEqual([50, 90, 99, 100]);
  expect(percentile([7], 99)).toBe(7);
  expect(slope([1, 2, 3, 4].map((x) => [x, 3 * x + 1]))).toBeCloseTo(3);
  expect(slope([1, 2, 3, 4].map((x) => [x, 5]))).toBe(0);
});
