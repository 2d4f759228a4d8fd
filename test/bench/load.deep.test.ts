import { expect, test } from 'vitest';
import { load } from '../../bench/load/load.ts';

test('the load test finds no problems', async () => {
  const printed: string[] = [];
  const short = { stories: 4, kindSeconds: 0, mixSeconds: 1, minutes: 1 / 60, sampleMs: 500 };
  expect(await load({ ...short, print: (text) => void printed.push(text) })).toEqual([]);
  expect(printed.join('\n')).toMatch(/4 of 4 stories ended; \d+ runs were saved/);
}, 180_000);
