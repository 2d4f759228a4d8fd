import { describe, expect, it } from 'vitest';
import { billReport } from '../../bench/bill/report.ts';
import { findMissing } from '../../bench/page-tables.ts';
import { scaleReport } from '../../bench/scale/report.ts';
import { startWire } from '../../bench/wire.ts';
import { pages } from './markdown.ts';

const textOf = (name: string): string => pages.find(({ path }) => path === `docs/${name}`)?.text ?? '';

describe('the cost page', () => {
  it('contains the tables that `npm run bill` prints; `npm run bill -- --write` updates them', async () => {
    const wire = await startWire();
    try {
      expect(findMissing(textOf('reference/cost.md'), await billReport(wire))).toEqual([]);
    } finally {
      await wire.stop();
    }
  });
});

describe('the scale page', () => {
  it('contains the tables that `npm run scale` prints; `npm run scale -- --write` updates them', async () => {
    expect(findMissing(textOf('reference/scale.md'), await scaleReport())).toEqual([]);
  });
});
