import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type FormField, toForm } from '../../../lambda/core/forms/form-field.ts';
import type { JsonSchema } from '../../../lambda/core/forms/json-schema.ts';
import { toJsonSchema } from '../../../lambda/runtime/definition/to-json-schema.ts';

const formOf = (schema: z.ZodType): FormField => toForm(toJsonSchema(schema) ?? {});
const fieldsOf = (field: FormField): readonly FormField[] => (field.kind === 'group' ? field.fields : []);

/** The kinds of the fields of an object, by name. */
const kinds = (field: FormField) =>
  Object.fromEntries(
    fieldsOf(field).map((each) => [each.name, each.kind === 'text' ? `text ${each.input}` : each.kind]),
  );

describe('the form of a schema', () => {
  test('has a field for each kind of value', () => {
    const form = formOf(
      z.object({
        name: z.string(),
        note: z.string().max(2000),
        day: z.iso.date(),
        at: z.iso.datetime(),
        mail: z.email(),
        page: z.url(),
        bags: z.int(),
        price: z.number(),
        insured: z.boolean(),
        seat: z.enum(['window', 'aisle']),
        size: z.union([z.literal(1), z.literal(2)]),
        extras: z.array(z.enum(['a', 'b'])),
        tags: z.array(z.string()),
        counts: z.array(z.number()),
        from: z.object({ city: z.string() }),
        kind: z.literal('trip'),
      }),
    );
    expect(kinds(form)).toEqual({
      ...{ name: 'text line', note: 'text lines', day: 'text date', at: 'text date-time' },
      ...{ mail: 'text email', page: 'text uri', bags: 'number', price: 'number', insured: 'choice', seat: 'choice' },
      ...{ size: 'choice', extras: 'choices', tags: 'list', counts: 'list', from: 'group', kind: 'fixed' },
    });
  });

  test('shows titles, descriptions, limits, defaults, and what is required', () => {
    const form = formOf(
      z.object({
        bags: z.int().min(0).max(3).default(1).meta({ title: 'Bags', description: 'Up to 23 kg each' }),
        note: z.string().max(500).nullable(),
        code: z.string().min(2).max(4).optional(),
        extras: z
          .array(z.enum(['a', 'b', 'c']))
          .min(1)
          .max(2),
      }),
    );
    expect(fieldsOf(form)).toMatchObject([
      { path: '/bags', label: 'Bags', hint: 'Up to 23 kg each', initial: 1, isRequired: false },
      { path: '/note', label: 'note', limits: 'at most 500 characters', isRequired: true, isNullable: true },
      { path: '/code', limits: '2 to 4 characters', isRequired: false },
      { path: '/extras', limits: '1 to 2 values' },
    ]);
    expect(fieldsOf(form)[0]).toMatchObject({ limits: 'a whole number from 0 to 3' });
  });

  test('follows references, and reads what Python libraries write', () => {
    const schema: JsonSchema = {
      type: 'object',
      $defs: { Seat: { title: 'Seat', enum: ['window', 'aisle'] } },
      properties: {
        seat: { $ref: '#/$defs/Seat' },
        other: { allOf: [{ $ref: '#/$defs/Seat' }], default: 'aisle', description: 'Second choice' },
        maybe: { anyOf: [{ $ref: '#/$defs/Seat' }, { type: 'null' }], default: null },
        age: { anyOf: [{ type: 'integer', minimum: 0 }, { type: 'null' }], title: 'Age' },
      },
    };
    expect(fieldsOf(toForm(schema))).toMatchObject([
      { kind: 'choice', label: 'Seat', isNullable: false },
      { kind: 'choice', initial: 'aisle', hint: 'Second choice' },
      { kind: 'choice', isNullable: true },
      { kind: 'number', label: 'Age', isNullable: true, limits: 'a whole number from 0' },
    ]);
  });

  test('has a JSON field for what a form cannot show, and only for that', () => {
    const Tree = z.object({
      name: z.string(),
      get children() {
        return z.array(Tree);
      },
      get parent() {
        return Tree.optional();
      },
    });
    expect(kinds(formOf(Tree))).toEqual({ name: 'text line', children: 'json', parent: 'json' });
    const odd = z.object({
      prices: z.record(z.string(), z.number()),
      pair: z.tuple([z.string(), z.number()]),
      mixed: z.union([z.string(), z.number()]),
      either: z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b') })]),
      any: z.any(),
      when: z.date(),
      loose: z.looseObject({ a: z.string() }),
      rows: z.array(z.object({ a: z.string() })),
      plain: z.string(),
    });
    const { plain, ...others } = kinds(formOf(odd));
    expect(plain).toBe('text line');
    expect(new Set(Object.values(others))).toEqual(new Set(['json']));
    expect(toForm({})).toMatchObject({ kind: 'json', path: '' });
  });

  test('is one JSON field if it would have more than a hundred fields, or be too deep', () => {
    const many = (count: number) =>
      z.object(Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, z.string()])));
    expect(formOf(many(99)).kind).toBe('group');
    expect(formOf(many(101)).kind).toBe('json');
    const nested = (levels: number): z.ZodType => (levels === 0 ? z.string() : z.object({ in: nested(levels - 1) }));
    expect(JSON.stringify(formOf(nested(4)))).not.toContain('json');
    expect(JSON.stringify(formOf(nested(9)))).toContain('json');
  });

  test('is one field for JSON if all its choices together would make a huge page', () => {
    const $defs = { each: { enum: Array.from({ length: 500 }, (_, i) => i) } };
    const formWith = (fields: number) => {
      const names = Array.from({ length: fields }, (_, i) => [`f${i}`, { $ref: '#/$defs/each' }]);
      return toForm({ type: 'object', $defs, properties: Object.fromEntries(names) }).kind;
    };
    expect([formWith(4), formWith(5)]).toEqual(['group', 'json']);
  });

  test('ends also for a schema in which each level refers to many others', () => {
    const names = Array.from({ length: 30 }, (_, i) => `d${i}`);
    const properties = Object.fromEntries(names.map((name) => [name, { $ref: `#/$defs/${name}` }]));
    const $defs = Object.fromEntries(names.map((name) => [name, { type: 'object', properties }]));
    expect(toForm({ $ref: '#/$defs/d0', $defs }).kind).toBe('json');
  });
});

describe('the JSON Schema of a schema', () => {
  test('is absent if its library has none, or if it is larger than 16 KB', () => {
    expect(
      toJsonSchema({ '~standard': { version: 1, vendor: 'own', validate: (value) => ({ value }) } }),
    ).toBeUndefined();
    expect(toJsonSchema(z.enum(Array.from({ length: 2000 }, (_, i) => `choice ${i}`)))).toBeUndefined();
    expect(toJsonSchema(z.object({ a: z.string() }))).toEqual({
      ...{ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
    });
  });
});
