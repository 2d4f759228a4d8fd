import { isDeepStrictEqual } from 'node:util';
import {
  describeCount,
  describeLength,
  describeNumber,
  fitsCount,
  fitsLength,
  fitsNumber,
  TEXT_FORMATS,
} from './describe-schema.ts';
import { escapePointer, fieldOf, isRecord, type JsonSchema, resolveSchema, schemasOf } from './json-schema.ts';
import { Patterns } from './patterns.ts';

/** What is wrong with a value, and where. */
export interface FieldProblem {
  /** A JSON pointer into the value; empty for the value itself. */
  readonly path: string;
  /** A sentence that says what to enter instead. */
  readonly message: string;
}

export const REQUIRED = 'This field is required.';

const MAX_PROBLEMS = 20;
// Schemas with many alternatives inside alternatives could take forever. The agent's own schema checks everything.
const MAX_CHECKS = 20_000;
const MAX_MS = 300;
// A schema can refer to itself for the same value. Values have at most 100 levels.
const MAX_DEPTH = 500;

/**
 * Finds what is wrong with a value. It checks the keywords that forms show, and ignores others: a value without
 * problems may still be refused by the schema that the JSON Schema was made from.
 */
export function findProblems(schema: JsonSchema, value: unknown): readonly FieldProblem[] {
  return new Checker(schema).check(schema, value, '').slice(0, MAX_PROBLEMS);
}

type Problems = readonly FieldProblem[];

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  array: Array.isArray,
  object: isRecord,
  null: (value) => value === null,
};

class Checker {
  readonly #root: JsonSchema;
  readonly #patterns = new Patterns();
  #checksLeft = MAX_CHECKS;
  readonly #endsAt = performance.now() + MAX_MS;
  #depth = 0;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  check(given: unknown, value: unknown, path: string): Problems {
    if (given === false) return [{ path, message: 'Remove this value.' }];
    if (!isRecord(given) || this.#checksLeft-- <= 0 || performance.now() > this.#endsAt || this.#depth >= MAX_DEPTH)
      return [];
    this.#depth += 1;
    const problems = this.#checkResolved(given, value, path);
    this.#depth -= 1;
    return problems;
  }

  #checkResolved(given: JsonSchema, value: unknown, path: string): Problems {
    const resolved = resolveSchema(this.#root, given);
    if (!resolved || (resolved.isNullable && value === null)) return [];
    const { schema } = resolved;
    const problem = checkScalar(schema, value, this.#patterns);
    if (problem !== undefined) return [{ path, message: problem }];
    return [
      ...this.#checkAlternatives(schema, value, path),
      ...schemasOf(schema.allOf).flatMap((each) => this.check(each, value, path)),
      ...(Array.isArray(value) ? this.#checkList(schema, value, path) : []),
      ...(isRecord(value) ? this.#checkFields(schema, value, path) : []),
    ];
  }

  #checkAlternatives({ anyOf, oneOf }: JsonSchema, value: unknown, path: string): Problems {
    const members = schemasOf(anyOf ?? oneOf);
    if (members.length === 0) return [];
    const found = members.map((member) => this.check(member, value, path));
    if (found.some(({ length }) => length === 0)) return [];
    const fitting = found.filter((_, i) => fitsType(members[i]?.type, value));
    const [only, ...more] = fitting;
    return only && more.length === 0 ? only : [{ path, message: 'Enter a value of one of the allowed forms.' }];
  }

  #checkList(schema: JsonSchema, list: readonly unknown[], path: string): Problems {
    const { items, uniqueItems } = schema;
    if (!fitsCount(schema, list.length)) return [{ path, message: `Enter ${describeCount(schema)}.` }];
    const isRepeated = (value: unknown, i: number) => list.slice(0, i).some((each) => isDeepStrictEqual(each, value));
    if (uniqueItems === true && list.length <= MAX_UNIQUE && list.some(isRepeated))
      return [{ path, message: 'Enter each value once.' }];
    return list.flatMap((each, i) => this.check(items, each, `${path}/${i}`));
  }

  #checkFields(schema: JsonSchema, value: Readonly<Record<string, unknown>>, path: string): Problems {
    const { properties, required, additionalProperties } = schema;
    const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
    const missing = names.filter((name) => !Object.hasOwn(value, name));
    const at = (name: string) => `${path}/${escapePointer(name)}`;
    return [
      ...missing.map((name) => ({ path: at(name), message: REQUIRED })),
      ...Object.keys(value).flatMap((name) => {
        const known = fieldOf(properties, name);
        if (known === undefined && additionalProperties === false)
          return [{ path: at(name), message: 'This field is unknown. Remove it.' }];
        return this.check(known ?? additionalProperties, value[name], at(name));
      }),
    ];
  }
}

const MAX_UNIQUE = 1000;

const fitsType = (type: unknown, value: unknown): boolean =>
  [type].flat().some((each) => typeof each !== 'string' || !Object.hasOwn(TYPES, each) || TYPES[each]?.(value));

/** What to enter instead of a value whose type, choice, size or format is wrong. */
function checkScalar(schema: JsonSchema, value: unknown, patterns: Patterns): string | undefined {
  const values = allowedValues(schema);
  if (values && !values.some((each) => isDeepStrictEqual(each, value))) return oneOfText(values);
  if (!fitsType(schema.type, value)) return expectedType(schema);
  if (typeof value === 'number' && !fitsNumber(schema, value)) return `Enter ${describeNumber(schema)}.`;
  return typeof value === 'string' ? checkText(schema, value, patterns) : undefined;
}

/** The values of a schema that lists them all. */
function allowedValues({ enum: values, anyOf, oneOf, ...schema }: JsonSchema): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, 'const')) return [schema.const];
  if (Array.isArray(values)) return values;
  const members = schemasOf(anyOf ?? oneOf);
  const isList = members.length > 0 && members.every((member) => Object.hasOwn(member, 'const'));
  return isList ? members.map((member) => member.const) : undefined;
}

function checkText(schema: JsonSchema, text: string, patterns: Patterns): string | undefined {
  const { format, pattern } = schema;
  if (text === '' && !fitsLength(schema, text)) return REQUIRED;
  if (!fitsLength(schema, text)) return `Enter ${describeLength(schema)}; found ${[...text].length}.`;
  const known = typeof format === 'string' && Object.hasOwn(TEXT_FORMATS, format) ? TEXT_FORMATS[format] : undefined;
  const isMatch = typeof pattern !== 'string' || patterns.matches(pattern, text);
  if (known && !(known.fits(text) && isMatch)) return `Enter ${known.what}.`;
  return isMatch ? undefined : `Enter text that matches the pattern ${pattern}`;
}

const EXPECTED_TYPES: Readonly<Record<string, string>> = {
  string: 'Enter text.',
  boolean: 'Choose yes or no (true or false).',
  array: 'Enter a list.',
  object: 'Enter an object.',
  null: 'Leave this empty (null).',
};

const expectedType = (schema: JsonSchema): string => {
  const { type } = schema;
  if (type === 'number' || type === 'integer') return `Enter ${describeNumber(schema)}.`;
  return (typeof type === 'string' && EXPECTED_TYPES[type]) || `Enter a value of type ${[type].flat().join(' or ')}.`;
};

const MAX_LISTED = 10;

function oneOfText(values: readonly unknown[]): string {
  const listed = values.slice(0, MAX_LISTED).map((value) => JSON.stringify(value));
  return `Choose one of ${listed.join(', ')}${values.length > MAX_LISTED ? ` and ${values.length - MAX_LISTED} more` : ''}.`;
}
