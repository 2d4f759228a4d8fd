import { describe, expect, test } from 'vitest';
import { checkTransition, hasEnded, STATUSES, type Status, TRANSITIONS } from '../../lambda/core/status.ts';

const allows = (from: Status, to: Status, options?: { reopen?: boolean }): boolean => {
  try {
    checkTransition('r', from, to, options);
    return true;
  } catch {
    return false;
  }
};

describe('the table of statuses', () => {
  test('has exactly these statuses', () => {
    expect(STATUSES.toSorted()).toEqual(
      [
        'READY',
        'RUNNING',
        'WAITING_FOR_APPROVAL',
        'WAITING_FOR_SIGNAL',
        'SLEEPING',
        'ENDING',
        'SUCCEEDED',
        'FAILED',
        'CANCELLED',
      ].toSorted(),
    );
  });

  test('allows a run to keep its status and to change as listed', () => {
    for (const from of STATUSES) {
      for (const to of STATUSES) expect(allows(from, to)).toBe(from === to || TRANSITIONS[from].includes(to));
    }
  });

  test('allows a run to end only while it runs or waits, and to succeed only while it runs', () => {
    const ended = STATUSES.filter(hasEnded);
    expect(ended.toSorted()).toEqual(['CANCELLED', 'FAILED', 'SUCCEEDED']);
    for (const from of ended) expect(TRANSITIONS[from]).toEqual([]);
    expect(STATUSES.filter((from) => TRANSITIONS[from].includes('SUCCEEDED'))).toEqual(['RUNNING']);
  });

  test('allows every run that has not ended to be cancelled and to fail', () => {
    for (const from of STATUSES.filter((status) => !hasEnded(status))) {
      expect(allows(from, 'CANCELLED')).toBe(true);
      expect(allows(from, 'FAILED')).toBe(true);
    }
  });

  test('allows time travel to reopen an ended run', () => {
    expect(allows('SUCCEEDED', 'RUNNING')).toBe(false);
    expect(allows('SUCCEEDED', 'RUNNING', { reopen: true })).toBe(true);
  });

  test('names the allowed statuses in the error', () => {
    expect(() => checkTransition('trip-42', 'ENDING', 'RUNNING')).toThrow(
      'Run "trip-42" is ENDING and cannot become RUNNING. Allowed: FAILED, CANCELLED.',
    );
    expect(() => checkTransition('r', 'FAILED', 'RUNNING')).toThrow(/nothing \(rewind or fork it instead\)/);
  });
});
