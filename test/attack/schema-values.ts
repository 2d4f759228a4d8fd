import fc from 'fast-check';
import { anyUnit } from './hostile.ts';
import { type JsonSchema, resolveSchema, type Schemas } from './json-schema.ts';

/** Values that exist in the scene, by the name of a field or parameter. */
export type KnownValues = Readonly<Record<string, readonly unknown[]>>;

/** Generates values that match schemas; uses the known values of a name most of the time, or always. */
export class SchemaValues {
  readonly #schemas: Schemas;
  readonly #known: KnownValues;
  readonly #always: boolean;

  constructor(schemas: Schemas, known: KnownValues, { always = false } = {}) {
    this.#schemas = schemas;
    this.#known = known;
    this.#always = always;
  }

  /** Values of a schema for a field or parameter with this name. */
  of(given: JsonSchema, name = ''): fc.Arbitrary<unknown> {
    const generated = this.#generate(given);
    const known = Object.hasOwn(this.#known, name) ? this.#known[name] : undefined;
    if (!known || known.length === 0) return generated;
    return fc.oneof(
      { arbitrary: fc.constantFrom(...known), weight: 5 },
      { arbitrary: generated, weight: this.#always ? 0 : 1 },
    );
  }

  /** Values of an object schema; fields in `given` are present even if they are optional. */
  object(schema: JsonSchema, given: readonly string[]): fc.Arbitrary<unknown> {
    const { anyOf, properties = {}, required = [], ...rest } = resolveSchema(this.#schemas, schema);
    if (anyOf) return fc.oneof(...anyOf.map((one) => this.object(one, given)));
    const there = given.filter((name) => Object.hasOwn(properties, name));
    return this.#object({ ...rest, properties, required: [...required, ...there] });
  }

  #generate(given: JsonSchema): fc.Arbitrary<unknown> {
    const schema = resolveSchema(this.#schemas, given);
    if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => this.#generate(one)));
    if (schema.enum) return fc.constantFrom(...schema.enum);
    if ('const' in schema) return fc.constant(schema.const);
    switch (schema.type) {
      case 'string':
        return texts(schema);
      case 'integer':
        return integers(schema);
      case 'number':
        return fc.oneof(integers(schema), fc.double({ min: Math.max(0, minimumOf(schema)), max: 1e12, noNaN: true }));
      case 'boolean':
        return fc.boolean();
      case 'array':
        return fc.array(this.#generate(schema.items ?? {}), { maxLength: Math.min(4, schema.maxItems ?? 4) });
      case 'object':
        return this.#object(schema);
      default:
        return documents();
    }
  }

  #object({ properties = {}, required = [], additionalProperties }: JsonSchema): fc.Arbitrary<unknown> {
    const fields = Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, this.of(schema, name)] as const),
    );
    const record = recordsWith(fields, required);
    if (typeof additionalProperties !== 'object') return record;
    const more = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), this.of(additionalProperties), {
      maxKeys: 3,
    });
    return fc.tuple(more, record).map(([others, own]) => ({ ...others, ...own }));
  }
}

/** Records with all required fields and none, some or all of the optional ones. */
export function recordsWith(
  fields: Readonly<Record<string, fc.Arbitrary<unknown>>>,
  required: readonly string[],
): fc.Arbitrary<Readonly<Record<string, unknown>>> {
  const only = (names: readonly string[]) =>
    fc.record(Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name))));
  const optional = Object.keys(fields).filter((name) => !required.includes(name));
  const few = fc.subarray(optional, { maxLength: Math.min(2, optional.length) });
  return fc.oneof(
    { arbitrary: only(required), weight: 1 },
    { arbitrary: few.chain((names) => only([...required, ...names])), weight: 3 },
    { arbitrary: fc.record(fields, { requiredKeys: [...required] }), weight: 1 },
  );
}

const minimumOf = ({ minimum = -Infinity, exclusiveMinimum }: JsonSchema): number =>
  exclusiveMinimum === undefined ? minimum : exclusiveMinimum + Number.EPSILON;

function integers({ minimum, maximum, exclusiveMinimum }: JsonSchema): fc.Arbitrary<number> {
  const min = Math.max(Number.MIN_SAFE_INTEGER, minimum ?? (exclusiveMinimum === undefined ? 0 : exclusiveMinimum + 1));
  const max = Math.min(Number.MAX_SAFE_INTEGER, maximum ?? Number.MAX_SAFE_INTEGER);
  const near = fc.integer({ min, max: Math.min(max, min + 6) });
  return fc.oneof({ arbitrary: near, weight: 3 }, { arbitrary: fc.integer({ min, max }), weight: 1 });
}

function texts({ minLength = 0, maxLength = 200, pattern, format }: JsonSchema): fc.Arbitrary<string> {
  if (format === 'date-time')
    return fc
      .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
      .map((date) => date.toISOString());
  const longest = Math.min(maxLength, minLength + 30);
  const fits = ({ length }: string) => length >= minLength && length <= maxLength;
  // Random texts hardly ever match a pattern, so a filter would search forever.
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, 'u')).filter(fits);
  return fc
    .oneof(
      fc.string({ minLength, maxLength: longest }),
      fc.string({ minLength, maxLength: longest, unit: anyUnit }),
      fc.constantFrom('x'.repeat(maxLength), 'x'.repeat(Math.max(1, minLength))),
      fc.string({ minLength: 1, maxLength: 20 }).map((rest) => `group:${rest}`),
    )
    .filter(fits);
}

/** Any JSON, sometimes with `$` nodes for values that JSON lacks. */
const documents = (): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }),
    fc.constantFrom(
      { at: { $: ['date', 0] }, of: { $: ['map', [['a', 1]]] }, n: { $: ['bigint', '12'] }, x: { $: 'undefined' } },
      { all: { $: ['shared', 1, { me: { $: ['ref', 1] } }] } },
      { money: { $: ['class', 'Money', { cents: 1 }] }, bytes: { $: ['bytes', 'Uint8Array', 'AAEC'] } },
      'x'.repeat(30_000),
    ),
  );
