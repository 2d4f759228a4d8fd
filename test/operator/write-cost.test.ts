import { describe, expect, it } from 'vitest';
import { writeCost } from '../../lambda/operator/write-cost.ts';

describe('a checkpoint on AWS', () => {
  it.each([
    [0, 1, 0],
    [1024, 1, 0],
    [1025, 2, 0],
    [9 * 1024, 9, 0],
    [9 * 1024 + 1, 1, 1],
    [5_000_000, 1, 1],
  ])('of %d bytes costs an estimated %d write units and %d PUT requests', (bytes, writeUnits, puts) => {
    expect(writeCost({ bytes })).toEqual({ writeUnits, puts });
  });
});
