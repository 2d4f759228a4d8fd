import { describe, expect, it } from 'vitest';
import { writeCost } from '../../lambda/operator/write-cost.ts';

describe('a checkpoint on AWS', () => {
  it.each([
    [1, 0, 0],
    [1, 0, 1024],
    [2, 0, 1025],
    [9, 0, 9 * 1024],
    [1, 1, 9 * 1024 + 1],
    [1, 1, 5_000_000],
  ])('costs an estimated %d write units and %d PUT requests if it has %d bytes', (writeUnits, puts, bytes) => {
    expect(writeCost({ bytes })).toEqual({ writeUnits, puts });
  });
});
