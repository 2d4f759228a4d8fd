import { describe, expect, it } from 'vitest';
import { listRecordedResults } from '../../lambda/operator/recorded-results.ts';

describe('recorded results', () => {
  it('do not include the journal of the Python client, whose results have the ids of their steps', () => {
    const toolResults = {
      'journal/1': { kind: 'tool', value: { kind: 'step', id: 'quote', done: true } },
      'journal/epoch': { kind: 'tool', value: 1 },
      quote: { kind: 'tool', value: 12 },
    };
    expect(listRecordedResults({ toolResults, isDurable: true })).toEqual([
      { id: 'quote', kind: 'tool', value: 12, isCompleted: true },
    ]);
  });
});
