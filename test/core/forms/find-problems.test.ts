import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { findProblems } from '../../../lambda/core/forms/find-problems.ts';
import type { JsonSchema } from '../../../lambda/core/forms/json-schema.ts';
import { toJsonSchema } from '../../../lambda/runtime/definition/to-json-schema.ts';

const schemaOf = (schema: z.ZodType): JsonSchema => toJsonSchema(schema) ?? {};
const messages = (schema: JsonSchema, value: unknown) =>
  findProblems(schema, value).map(({ path, message }) => `${path} ${message}`.trim());

describe('a value', () => {
  test('has no problems if it matches the schema', () => {
    const trip = z.object({
      seat: z.enum(['window', 'aisle']),
      bags: z.int().min(0).max(3),
      price: z.number().gt(0).multipleOf(0.1),
      note: z.string().max(20).nullable(),
      meals: z.array(z.enum(['vegan', 'fish'])).min(1),
      day: z.iso.date(),
      at: z.iso.datetime(),
      mail: z.email().optional(),
      page: z.url(),
      insured: z.boolean().default(true),
      from: z.object({ city: z.string() }),
    });
    const value = {
      ...{ seat: 'aisle', bags: 3, price: 0.3, note: null, meals: ['fish'], day: '2028-02-29', from: { city: 'Bonn' } },
      ...{ at: '2030-01-01T10:00:00Z', page: 'https://example.com', insured: false },
    };
    expect(findProblems(schemaOf(trip), value)).toEqual([]);
    expect(trip.safeParse(value).success).toBe(true);
  });

  test.each<[JsonSchema, unknown, string]>([
    [{ type: 'integer', minimum: 1, maximum: 9 }, 10, 'Enter a whole number from 1 to 9.'],
    [{ type: 'integer' }, 1.5, 'Enter a whole number.'],
    [{ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0, 'Enter a number above 0 and below 1.'],
    [{ type: 'number', multipleOf: 0.5 }, 0.7, 'Enter a number, a multiple of 0.5.'],
    [{ type: 'number' }, '7', 'Enter a number.'],
    [{ type: 'number' }, Number.NaN, 'Enter a number.'],
    [{ type: 'string', minLength: 1 }, '', 'This field is required.'],
    [{ type: 'string', minLength: 3 }, 'ab', 'Enter at least 3 characters; found 2.'],
    [{ type: 'string', maxLength: 2 }, 'abc', 'Enter at most 2 characters; found 3.'],
    [{ type: 'string', format: 'date' }, '2027-02-29', 'Enter a date such as 2030-12-31.'],
    [{ type: 'string', format: 'date-time' }, '2027-02-28', 'Enter a date and time such as 2030-12-31T09:30:00Z.'],
    [{ type: 'string', format: 'email' }, 'ann', 'Enter an email address.'],
    [{ type: 'string', format: 'uri' }, 'ann', 'Enter a URL such as https://example.com.'],
    [{ type: 'string', pattern: '^[a-z]+$' }, 'a1', 'Enter text that matches the pattern ^[a-z]+$'],
    [{ enum: ['a', 'b'] }, 'c', 'Choose one of "a", "b".'],
    [{ const: 1 }, 2, 'Choose one of 1.'],
    [{ oneOf: [{ const: 'a' }, { const: 'b' }] }, 'A', 'Choose one of "a", "b".'],
    [{ type: 'boolean' }, 'yes', 'Choose yes or no (true or false).'],
    [{ type: 'array', minItems: 2 }, [1], 'Enter at least 2 values.'],
    [{ type: 'array', uniqueItems: true }, [1, 1], 'Enter each value once.'],
    [{ type: 'object' }, [], 'Enter an object.'],
    [{ type: ['string', 'number'] }, true, 'Enter a value of type string or number.'],
    [{ anyOf: [{ type: 'string', minLength: 3 }, { type: 'number' }] }, 'ab', 'Enter at least 3 characters; found 2.'],
  ])('is refused by %j in words if it is %j', (schema, value, expected) => {
    expect(messages(schema, value)).toEqual([expected]);
  });

  test('is refused at each field that is wrong, missing or unknown', () => {
    const schema = schemaOf(
      z.strictObject({ a: z.string(), 'b/c': z.object({ n: z.array(z.number()) }), d: z.string().optional() }),
    );
    expect(messages(schema, { 'b/c': { n: [1, 'x'] }, d: null, e: 1 })).toEqual([
      '/a This field is required.',
      '/b~1c/n/1 Enter a number.',
      '/d Enter text.',
      '/e This field is unknown. Remove it.',
    ]);
  });

  test('is counted leniently where libraries differ, so that a valid one is never refused', () => {
    const emoji = '👍'.repeat(5);
    expect(messages({ type: 'string', maxLength: 5, minLength: 10 }, emoji)).toEqual([]);
    expect(messages({ type: 'string', maxLength: 4 }, emoji)).toHaveLength(1);
    const code = z.string().regex(/^[a-z]+$/i);
    expect(messages(schemaOf(code), 'ABC')).toEqual([]);
    expect(messages(schemaOf(code), '123')).toHaveLength(1);
  });

  test('is not held up by a pattern that takes forever, nor refused by one that is invalid', () => {
    const begin = performance.now();
    expect(messages({ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(60)}b`)).toEqual([]);
    expect(performance.now() - begin).toBeLessThan(5_000);
    expect(messages({ type: 'string', pattern: '(' }, 'a')).toEqual([]);
  });

  test('is checked at every level of a recursive schema', () => {
    const Tree = z.object({
      value: z.number(),
      get children() {
        return z.array(Tree);
      },
    });
    const schema = schemaOf(Tree);
    expect(messages(schema, { value: 1, children: [{ value: 2, children: [{ value: 'x', children: [] }] }] })).toEqual([
      '/children/0/children/0/value Enter a number.',
    ]);
  });

  test('is accepted where the schema never ends, or takes too long: the agent checks it', () => {
    expect(messages({ $ref: '#' }, 1)).toEqual([]);
    expect(messages({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }, 1)).toEqual(
      [],
    );
    expect(messages({ $ref: 'https://example.com/x' }, 1)).toEqual([]);
    const wide = Array.from({ length: 50 }, () => ({ type: 'array', items: { $ref: '#' } }));
    const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1), deep(levels - 1)]);
    const begin = performance.now();
    messages({ anyOf: [...wide, { type: 'string' }] }, deep(9));
    expect(performance.now() - begin).toBeLessThan(5_000);
  });

  test('is treated like any other if its fields have names of the language itself', () => {
    const value = JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}');
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"}},"additionalProperties":false}',
    );
    expect(messages(schema, value)).toEqual([
      '/__proto__ Enter text.',
      '/constructor This field is unknown. Remove it.',
    ]);
    expect(messages({ type: 'object', required: ['toString'] }, {})).toEqual(['/toString This field is required.']);
  });

  test.each(['allOf', 'anyOf', 'oneOf'])(
    'is checked in bounded time against a schema whose %s refers to itself',
    (keyword) => {
      const schema = { [keyword]: [{ $ref: '#' }, { type: 'object' }], properties: { a: { type: 'string' } } };
      expect(findProblems(schema, { a: 'text' })).toEqual([]);
    },
  );

  test('is not checked for longer than a moment against a schema that doubles the work at each level', () => {
    const $defs: Record<string, object> = { d13: { type: 'string', maxLength: 100_000 } };
    for (let i = 0; i < 13; i++) {
      const next = { $ref: `#/$defs/d${i + 1}` };
      $defs[`d${i}`] = { allOf: [next, next] };
    }
    const { user } = process.cpuUsage();
    expect(findProblems({ $defs, $ref: '#/$defs/d0' }, 'x'.repeat(60_000))).toEqual([]);
    // Without a limit, it takes more than ten seconds.
    expect(process.cpuUsage().user - user).toBeLessThan(5_000_000);
  });
});
