import { describe, expect, test } from 'vitest';
import { isWaitstateError, WaitstateError } from '../../lambda/core/errors.ts';
import { invalidInput } from '../../lambda/core/invalid-input.ts';

describe('an error of Waitstate', () => {
  test('has a code, a literal name, a scope and its cause', () => {
    const cause = new Error('inner');
    const error = new WaitstateError('DAMAGED', 'it broke', { scope: 'run', cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'WaitstateError', code: 'DAMAGED', scope: 'run', message: 'it broke', cause });
    expect(new WaitstateError('DAMAGED', 'x')).toMatchObject({ scope: 'invocation' });
    expect(new WaitstateError('DAMAGED', 'x')).not.toHaveProperty('cause');
  });

  test('is recognized by its code, even when another copy of the package threw it', () => {
    const error = new WaitstateError('DAMAGED', 'x');
    const foreign = Object.assign(new Error('x'), { code: 'DAMAGED', scope: 'run' });
    for (const one of [error, foreign]) {
      expect(isWaitstateError(one)).toBe(true);
      expect(isWaitstateError(one, 'DAMAGED')).toBe(true);
      expect(isWaitstateError(one, 'STALE_VERSION')).toBe(false);
    }
  });

  test.each([
    undefined,
    null,
    'DAMAGED',
    { code: 'DAMAGED', scope: 'run' },
    new Error('x'),
    Object.assign(new Error('x'), { code: 'ENOENT' }),
  ])('is not confused with %o', (other) => expect(isWaitstateError(other)).toBe(false));
});

const cyclic: Record<string, unknown> = {};
cyclic.self = cyclic;

describe('an invalid argument', () => {
  test.each<[unknown, string]>([
    ['3', 'found "3".'],
    [3, 'found 3.'],
    [undefined, 'found undefined.'],
    [null, 'found null.'],
    [Number.NaN, 'found NaN.'],
    [{ a: 1 }, 'found {"a":1}.'],
    [['x'], 'found ["x"].'],
  ])('is shown in the message as it was passed, such as %o', (found, shown) => {
    const error = invalidInput('`version`', 'a number', found);
    expect(error).toMatchObject({ code: 'INVALID_INPUT', message: `\`version\` must be a number; ${shown}` });
  });

  test('is truncated in the message when it is long', () => {
    expect(invalidInput('x', 'short', 'y'.repeat(1000)).message.length).toBeLessThan(140);
  });

  test.each<[unknown]>([[() => {}], [Symbol('s')], [5n], [{ big: 5n }], [{ toJSON: () => undefined }], [cyclic]])(
    'can be a value of any kind, such as %s',
    (found) => {
      expect(invalidInput('x', 'y', found)).toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringMatching(/^x must be y; found /),
      });
    },
  );
});
