import { expect, test } from 'vitest';
import { percentile } from '../../bench/load/latencies.ts';
import { load } from '../../bench/load/load.ts';
import { slope } from '../../bench/load/memory.ts';

test('the load test finds no problems', async () => {
  const printed: string[] = [];
  const short = { stories: 4, kindSeconds: 0, mixSeconds: 1, minutes: 1 / 60, sampleMs: 500 };
  expect(await load({ ...short, print: (text) => void printed.push(text) })).toEqual([]);
  expect(printed.join('\n')).toMatch(/4 of 4 stories ended; \d+ runs were saved/);
}, 180_000);

test('percentile and slope give the known values of small samples', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);
  expect([50, 90, 99, 100].map((share) => percentile(hundred, share))).toEqual([50, 90, 99, 100]);
  expect(percentile([7], 99)).toBe(7);
  expect(slope([1, 2, 3, 4].map((x) => [x, 3 * x + 1]))).toBeCloseTo(3);
  expect(slope([1, 2, 3, 4].map((x) => [x, 5]))).toBe(0);
});
