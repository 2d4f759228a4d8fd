import { describe, expect, test } from 'vitest';
import { createMigrator, type Schema } from '../../lambda/checkpoints/format/schema.ts';

const add = (mark: string) => (state: unknown) => `${state}${mark}`;

describe('a schema migrator', () => {
  test('migrates a state from any version to the newest, one step at a time', () => {
    const migrator = createMigrator({ version: 4, migrations: { 1: add('a'), 2: add('b'), 3: add('c') } });
    expect(migrator.current).toBe(4);
    expect([1, 2, 3, 4].map((from) => migrator.migrate('r', '', from))).toEqual(['abc', 'bc', 'c', '']);
    expect(migrator.migrate('r', '', undefined)).toBe('abc');
  });

  test('orders text versions as given, not alphabetically', () => {
    const order = ['1.9.0', '1.10.0', '2.0.0'];
    const migrator = createMigrator({ version: '2.0.0', order, migrations: { '1.9.0': add('a'), '1.10.0': add('b') } });
    expect(order.map((from) => migrator.migrate('r', '', from))).toEqual(['ab', 'b', '']);
  });

  test('can know newer versions, and rejects them', () => {
    const migrator = createMigrator({ version: 2, order: [1, 2, 3], migrations: { 1: add('a') } });
    expect(() => migrator.check('r', 3)).toThrow(expect.objectContaining({ code: 'SCHEMA_TOO_NEW' }));
    expect(() => migrator.check('r', 2)).not.toThrow();
  });

  test('starts at the oldest supported version', () => {
    const migrator = createMigrator({ version: 3, oldest: 2, migrations: { 2: add('b') } });
    expect(migrator.migrate('r', '', 2)).toBe('b');
    expect(migrator.migrate('r', '', undefined)).toBe('b');
    expect(() => migrator.migrate('r', '', 1)).toThrow(expect.objectContaining({ code: 'SCHEMA_INVALID' }));
  });

  test('distinguishes a number from the same text', () => {
    const migrator = createMigrator({ version: 2, migrations: { 1: add('a') } });
    expect(() => migrator.check('r', '1')).toThrow(expect.objectContaining({ code: 'SCHEMA_TOO_NEW' }));
  });

  test.each<[string, Schema, RegExp]>([
    ['without its first step', { version: 3, migrations: { 2: add('b') } }, /missing: 1/],
    ['without several steps', { version: 4, migrations: { 2: add('b') } }, /missing: 1, 3/],
    ['without any', { version: 2 }, /missing: 1/],
    [
      'with a step that is no function',
      { version: 2, migrations: { 1: 'later' } as unknown as Record<number, () => void> },
      /missing: 1/,
    ],
    [
      'with a step from the top',
      { version: 2, migrations: { 1: add('a'), 2: add('b') } },
      /must start before version 2; found one from 2/,
    ],
    ['with a step from nowhere', { version: 2, migrations: { 1: add('a'), one: add('b') } }, /found one from one/],
    ['of texts without order', { version: '1.0.0' }, /need an `order`; found "1.0.0"/],
    [
      'whose order has not its version',
      { version: '3', order: ['1', '2'] },
      /must contain the current version 3; found 1, 2/,
    ],
    [
      'whose order names one twice',
      { version: 2, order: [1, 1, 2], migrations: { 1: add('a') } },
      /must name each version once/,
    ],
    [
      'whose oldest is unknown',
      { version: 2, oldest: 7, migrations: { 1: add('a') } },
      /`oldest` must be a version up to 2; found 7/,
    ],
    ['whose oldest is newer', { version: 1, order: [1, 2], oldest: 2 }, /`oldest` must be/],
    ['with version 0', { version: 0 }, /whole number from 1; found 0/],
    ['with version 1.5', { version: 1.5 }, /whole number from 1; found 1.5/],
    ['with no version', {} as Schema, /need an `order`/],
  ])('is rejected when it is created %s', (_, schema, message) => {
    expect(() => createMigrator(schema)).toThrow(
      expect.objectContaining({ code: 'SCHEMA_INVALID', message: expect.stringMatching(message) }),
    );
  });

  test('names the step and the run when a migration fails', () => {
    const cause = new TypeError('x is undefined');
    const fail = () => {
      throw cause;
    };
    const migrator = createMigrator({ version: 3, migrations: { 1: add('a'), 2: fail } });
    expect(() => migrator.migrate('trip-42', '', 1)).toThrow(
      expect.objectContaining({
        code: 'MIGRATION_FAILED',
        cause,
        message: expect.stringMatching(/from schema version 2 threw on run "trip-42": TypeError: x is undefined/),
      }),
    );
    const late = createMigrator({ version: 2, migrations: { 1: async () => 1 } });
    expect(() => late.migrate('r', '', 1)).toThrow(/not a promise/);
  });
});
