import { describeCount, describeLength, describeNumber, isWhole, TEXT_FORMATS } from './describe-schema.ts';
import { escapePointer, fieldOf, isRecord, type JsonSchema, resolveSchema, schemasOf } from './json-schema.ts';

/** A value that people can choose. */
export interface FormChoice {
  readonly value: unknown;
  readonly label: string;
  readonly description?: string;
}

interface FieldBase {
  /** A JSON pointer into the value; empty for the whole value. */
  readonly path: string;
  /** The name in the value of its group; empty for the whole value. */
  readonly name: string;
  /** The name, or the schema's title for it. */
  readonly label: string;
  readonly hint?: string;
  /** The limits of the value, as a phrase. */
  readonly limits?: string;
  readonly isRequired: boolean;
  readonly isNullable: boolean;
  /** The value of the schema's `default`. */
  readonly initial?: unknown;
}

/** How a text is entered. */
export type TextInput = 'line' | 'lines' | 'date' | 'date-time' | 'time' | 'email' | 'uri';

/** A field of a form. `json` is for everything that a form cannot show. */
export type FormField = FieldBase &
  (
    | { readonly kind: 'text'; readonly input: TextInput }
    | { readonly kind: 'number'; readonly isWhole: boolean }
    | { readonly kind: 'choice' | 'choices'; readonly choices: readonly FormChoice[] }
    | { readonly kind: 'list'; readonly item: 'text' | 'number' }
    | { readonly kind: 'group'; readonly fields: readonly FormField[] }
    | { readonly kind: 'fixed'; readonly value: unknown }
    | { readonly kind: 'json' }
  );

type Shape = FormField extends infer Each ? (Each extends FieldBase ? Omit<Each, keyof FieldBase> : never) : never;

const MAX_FIELDS = 100;
/** Of all fields together: a page lists each of them. */
const MAX_CHOICES = 2_000;
const MAX_GROUP_DEPTH = 4;
/** Longer texts get a field of several lines. */
const MAX_LINE_CHARACTERS = 200;

/** The form for values of a schema; one field for JSON if a form would be too long. */
export function toForm(schema: JsonSchema): FormField {
  const form = new FormBuilder(schema).field(schema, { path: '', name: '', isRequired: true, refs: ['#'], depth: 0 });
  return countFields(form) > MAX_FIELDS || countChoices(form) > MAX_CHOICES ? { ...form, kind: 'json' } : form;
}

const countFields = (field: FormField): number =>
  field.kind === 'group' ? field.fields.reduce((sum, each) => sum + countFields(each), 1) : 1;

function countChoices(field: FormField): number {
  if (field.kind === 'group') return field.fields.reduce((sum, each) => sum + countChoices(each), 0);
  return field.kind === 'choice' || field.kind === 'choices' ? field.choices.length : 0;
}

interface Position {
  readonly path: string;
  readonly name: string;
  readonly isRequired: boolean;
  readonly refs: readonly string[];
  readonly depth: number;
}

class FormBuilder {
  readonly #root: JsonSchema;
  #fieldsLeft = 2 * MAX_FIELDS;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  field(given: unknown, at: Position): FormField {
    const { path, name, isRequired } = at;
    const resolved = isRecord(given) && this.#fieldsLeft-- > 0 ? resolveSchema(this.#root, given, at.refs) : undefined;
    const base = { path, name, isRequired, label: name, isNullable: false };
    if (!resolved) return { ...base, kind: 'json' };
    const { schema, isNullable, refs } = resolved;
    const { title, description, default: initial } = schema;
    const limits = describeLimits(schema);
    return {
      ...base,
      isNullable,
      ...(typeof title === 'string' && title !== '' && { label: title }),
      ...(typeof description === 'string' && description !== '' && { hint: description }),
      ...(limits !== undefined && { limits }),
      ...(initial !== undefined && { initial }),
      ...this.#shape(schema, { ...at, refs }),
    };
  }

  #shape(schema: JsonSchema, at: Position): Shape {
    const { type } = schema;
    if (Object.hasOwn(schema, 'const')) return { kind: 'fixed', value: schema.const };
    const choices = choicesOf(schema);
    if (choices) return { kind: 'choice', choices };
    if (hasAlternatives(schema)) return { kind: 'json' };
    if (type === 'string') return { kind: 'text', input: textInput(schema) };
    if (type === 'number' || type === 'integer') return { kind: 'number', isWhole: isWhole(schema) };
    if (type === 'array') return this.#listShape(schema, at);
    return type === 'object' ? this.#groupShape(schema, at) : { kind: 'json' };
  }

  #listShape({ items, prefixItems }: JsonSchema, { refs }: Position): Shape {
    const item = isRecord(items) && prefixItems === undefined ? resolveSchema(this.#root, items, refs) : undefined;
    if (!item || item.isNullable) return { kind: 'json' };
    const choices = choicesOf(item.schema);
    if (choices) return { kind: 'choices', choices };
    if (hasAlternatives(item.schema) || Object.hasOwn(item.schema, 'const')) return { kind: 'json' };
    const { type } = item.schema;
    if (type === 'string') return { kind: 'list', item: 'text' };
    return type === 'number' || type === 'integer' ? { kind: 'list', item: 'number' } : { kind: 'json' };
  }

  #groupShape(
    { properties, required, additionalProperties = false, patternProperties }: JsonSchema,
    at: Position,
  ): Shape {
    const names = isRecord(properties) ? Object.keys(properties) : [];
    // Fields that the schema does not name cannot be entered in a form.
    const isClosed = additionalProperties === false && patternProperties === undefined;
    if (names.length === 0 || !isClosed || at.depth >= MAX_GROUP_DEPTH) return { kind: 'json' };
    const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
    const fields = names.map((name) =>
      this.field(fieldOf(properties, name), {
        name,
        path: `${at.path}/${escapePointer(name)}`,
        isRequired: isRequired(name),
        refs: at.refs,
        depth: at.depth + 1,
      }),
    );
    return { kind: 'group', fields };
  }
}

const hasAlternatives = ({ anyOf, oneOf, allOf, not, if: condition }: JsonSchema): boolean =>
  [anyOf, oneOf, allOf, not, condition].some((keyword) => keyword !== undefined);

const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);

/** The choices of a schema whose values are all known; undefined for other schemas. */
function choicesOf(schema: JsonSchema): readonly FormChoice[] | undefined {
  const { type, enum: values, anyOf, oneOf } = schema;
  if (Array.isArray(values))
    return values.length > 0 && values.every(isScalar)
      ? values.map((value) => ({ value, label: String(value) }))
      : undefined;
  const members = schemasOf(anyOf ?? oneOf);
  if (members.length > 0 && members.every((member) => isScalar(member.const))) return members.map(toChoice);
  return type === 'boolean'
    ? [
        { value: true, label: 'Yes' },
        { value: false, label: 'No' },
      ]
    : undefined;
}

const toChoice = ({ const: value, title, description }: JsonSchema): FormChoice => ({
  value,
  label: typeof title === 'string' && title !== '' ? title : String(value),
  ...(typeof description === 'string' && { description }),
});

function textInput({ format, maxLength }: JsonSchema): TextInput {
  if (typeof format === 'string' && Object.hasOwn(TEXT_FORMATS, format)) return format as TextInput;
  return typeof maxLength === 'number' && maxLength > MAX_LINE_CHARACTERS ? 'lines' : 'line';
}

/** The limits of a value that people must know before they enter it. */
function describeLimits(schema: JsonSchema): string | undefined {
  const { type } = schema;
  if (type === 'string') return describeLength(schema);
  if (type === 'array') return describeCount(schema);
  const number = type === 'number' || type === 'integer' ? describeNumber(schema) : undefined;
  return number === 'a number' || number === 'a whole number' ? undefined : number;
}
