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
    ['its first migration is missing', { version: 3, migrations: { 2: add('b') } }, /missing: 1/],
    ['several migrations are missing', { version: 4, migrations: { 2: add('b') } }, /missing: 1, 3/],
    ['all migrations are missing', { version: 2 }, /missing: 1/],
    [
      'a migration is not a function',
      { version: 2, migrations: { 1: 'later' } as unknown as Record<number, () => void> },
      /missing: 1/,
    ],
    [
      'a migration starts at the current version',
      { version: 2, migrations: { 1: add('a'), 2: add('b') } },
      /must start before version 2; found one from 2/,
    ],
    [
      'a migration starts at an unknown version',
      { version: 2, migrations: { 1: add('a'), one: add('b') } },
      /found one from one/,
    ],
    ['text versions have no order', { version: '1.0.0' }, /need an `order`; found "1.0.0"/],
    [
      'the order lacks the current version',
      { version: '3', order: ['1', '2'] },
      /must contain the current version 3; found 1, 2/,
    ],
    [
      'the order names a version twice',
      { version: 2, order: [1, 1, 2], migrations: { 1: add('a') } },
      /must name each version once/,
    ],
    [
      'the oldest version is unknown',
      { version: 2, oldest: 7, migrations: { 1: add('a') } },
      /`oldest` must be a version up to 2; found 7/,
    ],
    ['the oldest version is newer than the current one', { version: 1, order: [1, 2], oldest: 2 }, /`oldest` must be/],
    ['the version is 0', { version: 0 }, /whole number from 1; found 0/],
    ['the version is 1.5', { version: 1.5 }, /whole number from 1; found 1.5/],
    ['the version is missing', {} as Schema, /need an `order`/],
  ])('cannot be created if %s', (_, schema, message) => {
    expect(() => createMigrator(schema)).toThrow(
      expect.objectContaining({ code: 'SCHEMA_INVALID', message: expect.stringMatching(message) }),
    );
  });

  test('names the migration and the run when a migration fails', () => {
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
