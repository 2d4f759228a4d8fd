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
  test('has these, and no others', () => {
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

  test('lets a run stay what it is, and go where the table says', () => {
    for (const from of STATUSES) {
      for (const to of STATUSES) expect(allows(from, to)).toBe(from === to || TRANSITIONS[from].includes(to));
    }
  });

  test('lets a run end only from where it runs or waits, and succeed only from running', () => {
    const ended = STATUSES.filter(hasEnded);
    expect(ended.toSorted()).toEqual(['CANCELLED', 'FAILED', 'SUCCEEDED']);
    for (const from of ended) expect(TRANSITIONS[from]).toEqual([]);
    expect(STATUSES.filter((from) => TRANSITIONS[from].includes('SUCCEEDED'))).toEqual(['RUNNING']);
  });

  test('lets every run that has not ended be cancelled and fail', () => {
    for (const from of STATUSES.filter((status) => !hasEnded(status))) {
      expect(allows(from, 'CANCELLED')).toBe(true);
      expect(allows(from, 'FAILED')).toBe(true);
    }
  });

  test('lets who goes back in history reopen what has ended', () => {
    expect(allows('SUCCEEDED', 'RUNNING')).toBe(false);
    expect(allows('SUCCEEDED', 'RUNNING', { reopen: true })).toBe(true);
  });

  test('says what would have been allowed', () => {
    expect(() => checkTransition('trip-42', 'ENDING', 'RUNNING')).toThrow(
      'Run "trip-42" is ENDING and cannot become RUNNING. Allowed from ENDING: FAILED, CANCELLED.',
    );
    expect(() => checkTransition('r', 'FAILED', 'RUNNING')).toThrow(/nothing \(rewind or fork it instead\)/);
  });
});
