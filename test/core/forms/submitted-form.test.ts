import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type FormField, toForm } from '../../../lambda/core/forms/form-field.ts';
import { readForm } from '../../../lambda/core/forms/submitted-form.ts';
import { toJsonSchema } from '../../../lambda/runtime/definition/to-json-schema.ts';

const formOf = (schema: z.ZodType): FormField => toForm(toJsonSchema(schema) ?? {});
const submit = (schema: z.ZodType, texts: Readonly<Record<string, string>>, current?: unknown) =>
  readForm(formOf(schema), (path) => (Object.hasOwn(texts, path) ? texts[path] : undefined), current);

const Trip = z.object({
  seat: z.enum(['window', 'aisle']),
  bags: z.int(),
  insured: z.boolean(),
  note: z.string().optional(),
  extras: z.array(z.enum(['meal', 'lounge', 'bag'])),
  tags: z.array(z.string()),
  at: z.iso.datetime(),
  from: z.object({ city: z.string() }),
  more: z.record(z.string(), z.number()).optional(),
});

const FILLED = {
  ...{ '/seat': '1', '/bags': ' 2 ', '/insured': '1', '/extras/2': 'on', '/extras/0': 'on', '/tags': 'a\r\n\r\nb c' },
  ...{ '/at': '2030-01-02T09:30', '/from/city': 'Köln', '/more': '{"a": 1}' },
};

const TRIP = {
  ...{ seat: 'aisle', bags: 2, insured: false, extras: ['meal', 'bag'], tags: ['a', 'b c'] },
  ...{ at: '2030-01-02T09:30:00Z', from: { city: 'Köln' }, more: { a: 1 } },
};

describe('a submitted form', () => {
  test('is the value that its fields say', () => {
    const { value, problems, isChanged } = submit(Trip, FILLED);
    expect({ value, problems, isChanged }).toEqual({ value: TRIP, problems: [], isChanged: true });
    expect(Trip.parse(value)).toEqual(TRIP);
  });

  test('has a problem at each required field that is empty, and at each text that is no value', () => {
    const { problems } = submit(Trip, { '/seat': '7', '/bags': 'two', '/more': '{', '/insured': '-1' });
    expect(problems).toEqual([
      { path: '/seat', message: 'Choose one of the options.' },
      { path: '/bags', message: 'Enter a whole number.' },
      { path: '/insured', message: 'Choose one of the options.' },
      { path: '/at', message: 'This field is required.' },
      { path: '/from/city', message: 'This field is required.' },
      { path: '/more', message: expect.stringMatching(/^Enter JSON. Line 1, column 2: /) },
    ]);
  });

  test('leaves out optional fields, and has null for empty fields that can be null', () => {
    const schema = z.object({
      a: z.string().optional(),
      b: z.number().nullable(),
      c: z.object({ d: z.string() }).optional(),
    });
    expect(submit(schema, {})).toMatchObject({ value: { b: null }, problems: [] });
    expect(submit(schema, { '/c/d': 'x' })).toMatchObject({ value: { b: null, c: { d: 'x' } } });
    expect(submit(z.object({ n: z.object({ d: z.string() }).nullable() }), {})).toMatchObject({ value: { n: null } });
  });

  test('keeps the exact value of each field that was left as it was shown', () => {
    const schema = z.object({
      a: z.string(),
      n: z.number(),
      at: z.iso.datetime({ offset: true }),
      l: z.array(z.string()),
    });
    const current = { a: 'one\r\ntwo ', n: 1e21, at: '2030-01-01T10:00:00+02:00', l: ['x'] };
    const shown = { '/a': 'one\r\ntwo ', '/n': '1e+21', '/at': '2030-01-01T08:00', '/l': 'x' };
    expect(submit(schema, shown, current)).toEqual({ value: current, problems: [], isChanged: false });
    const changed = submit(schema, { ...shown, '/n': '7' }, current);
    expect(changed).toEqual({ value: { ...current, n: 7 }, problems: [], isChanged: true });
  });

  test('shows as JSON what a text field would change', () => {
    const schema = z.object({ a: z.string(), l: z.array(z.string()) });
    const current = { a: 'bell \u0007', l: ['two\nlines', 'x'] };
    expect(submit(schema, { '/a': '"bell \\u0007"', '/l': '["two\\nlines"]' }, current)).toMatchObject({
      value: { a: 'bell \u0007', l: ['two\nlines'] },
      problems: [],
    });
  });

  test('does not show a current value that the field cannot have', () => {
    const schema = z.object({ n: z.number(), seat: z.enum(['window']), d: z.iso.date() });
    const current = { n: '7', seat: 'roof', d: 'soon', other: 1 };
    expect(submit(schema, { '/d': 'soon' }, current)).toMatchObject({ isChanged: false });
    expect(submit(schema, { '/n': '8', '/seat': '0', '/d': '2030-01-01' }, current)).toMatchObject({
      value: { n: 8, seat: 'window', d: '2030-01-01' },
    });
  });

  test('can empty a text, and a list', () => {
    const schema = z.object({
      a: z.string(),
      o: z.string().optional(),
      l: z.array(z.string()),
      c: z.array(z.enum(['x', 'y'])),
    });
    const current = { a: 'x', o: 'y', l: ['z'], c: ['x'] };
    expect(submit(schema, {}, current)).toEqual({ value: { a: '', l: [], c: [] }, problems: [], isChanged: true });
  });

  test('starts with the defaults of the schema', () => {
    const schema = z.object({ bags: z.int().default(1), seat: z.enum(['window', 'aisle']).default('aisle') });
    expect(submit(schema, { '/bags': '1', '/seat': '1' })).toEqual({
      value: { bags: 1, seat: 'aisle' },
      problems: [],
      isChanged: false,
    });
  });

  test('never sets a prototype, whatever its fields are called', () => {
    const form = toForm(
      JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}'),
    );
    const { value } = readForm(form, (path) => (path === '/__proto__' ? 'x' : undefined), undefined);
    expect(Object.entries(Object(value))).toEqual([['__proto__', 'x']]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test('has the value itself if it is a single one', () => {
    expect(submit(z.enum(['a', 'b']), { '': '1' })).toMatchObject({ value: 'b' });
    expect(submit(z.array(z.enum(['a', 'b'])), { '/1': 'on' })).toMatchObject({ value: ['b'] });
    expect(submit(z.string(), { '': '  ' })).toMatchObject({
      problems: [{ path: '', message: 'This field is required.' }],
    });
  });
});
