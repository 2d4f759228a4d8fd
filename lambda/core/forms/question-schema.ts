import { invalidInput } from '../invalid-input.ts';
import { isRecord, type JsonSchema, schemasOf } from './json-schema.ts';

/** A value that people can choose as an answer. */
export type ChoiceValue = string | number | boolean;

/** An answer that people can choose: its value, or its value with a label. */
export type Choice =
  | ChoiceValue
  | { readonly value: ChoiceValue; readonly label: string; readonly description?: string | undefined };

/** How a question is answered: exactly one of `choices`, `text` and `answerSchema`. */
export interface QuestionTerms {
  readonly choices?: readonly Choice[] | undefined;
  /** Whether people can choose several of the choices. */
  readonly multiple?: boolean | undefined;
  readonly text?: true | { readonly maxLength?: number | undefined } | undefined;
  readonly answerSchema?: JsonSchema | undefined;
}

const MAX_CHOICES = 100;
const MAX_LABEL_CHARACTERS = 200;
const MAX_DESCRIPTION_CHARACTERS = 500;
const DEFAULT_TEXT_CHARACTERS = 10_000;
/** So that a text of any script is at most 64 KB. */
const MAX_TEXT_CHARACTERS = 16_000;
/** The largest schema that is stored with a request. */
export const MAX_SCHEMA_BYTES = 16 * 1024;

/** The JSON Schema of the answers to a question; refuses a question that nobody could answer. */
export function toAnswerSchema({ choices, multiple, text, answerSchema }: QuestionTerms): JsonSchema {
  const given = Object.entries({ choices, text, answer: answerSchema }).filter(([, value]) => value !== undefined);
  if (given.length !== 1)
    throw invalidInput(
      'A question',
      'given exactly one of `choices`, `text` and `answer`',
      given.map(([name]) => name).join(' and ') || 'none of them',
    );
  if (multiple !== undefined && (typeof multiple !== 'boolean' || choices === undefined))
    throw invalidInput('`multiple`', 'true or false, and given with `choices`', multiple);
  if (choices !== undefined) return checkSchemaSize('`choices`', choicesSchema(choices, multiple));
  if (text !== undefined) return textSchema(text);
  if (!isRecord(answerSchema)) throw invalidInput('`answerSchema`', 'a JSON Schema', answerSchema);
  return checkSchemaSize('`answerSchema`', answerSchema);
}

function choicesSchema(choices: readonly Choice[], multiple = false): JsonSchema {
  if (!Array.isArray(choices) || choices.length < 2 || choices.length > MAX_CHOICES)
    throw invalidInput('`choices`', `a list of 2 to ${MAX_CHOICES} choices`, choices);
  const members = choices.map(toMember);
  const values = members.map((member) => member.const);
  const labels = members.map(({ title }) => lookOf(String(title)));
  const isRepeated = (_: unknown, i: number) => values.indexOf(values[i]) < i || labels.indexOf(labels[i] ?? '') < i;
  const repeated = members.find(isRepeated);
  if (repeated) throw invalidInput('`choices`', 'values and labels that people can tell apart', repeated.title);
  const [type, ...others] = new Set(values.map((value) => typeof value));
  const choice = { ...(others.length === 0 && { type }), oneOf: members };
  return multiple ? { type: 'array', items: choice, minItems: 1, uniqueItems: true } : choice;
}

function toMember(choice: Choice): JsonSchema {
  const { value, label, description } = isRecord(choice)
    ? choice
    : { value: choice, label: String(choice), description: undefined };
  const isValue =
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value)) ||
    (typeof value === 'string' && value !== '' && value.isWellFormed());
  if (!isValue) throw invalidInput('Each of `choices`', 'text, a number or a boolean, or has such a `value`', choice);
  const isText = (text: unknown, max: number) =>
    typeof text === 'string' && text.trim() !== '' && text.length <= max && text.isWellFormed();
  if (!isText(label, MAX_LABEL_CHARACTERS))
    throw invalidInput('The `label` of a choice', `text of 1 to ${MAX_LABEL_CHARACTERS} characters`, label);
  if (description !== undefined && !isText(description, MAX_DESCRIPTION_CHARACTERS))
    throw invalidInput(
      'The `description` of a choice',
      `text of 1 to ${MAX_DESCRIPTION_CHARACTERS} characters`,
      description,
    );
  return { const: value, title: label, ...(description !== undefined && { description }) };
}

/** What people see of a label: blanks and invisible characters do not distinguish it. */
const lookOf = (label: string): string =>
  label
    .normalize('NFKC')
    .replaceAll(/[\p{Cc}\p{DI}]/gu, '')
    .replaceAll(/\s+/gu, ' ')
    .trim();

function textSchema(text: NonNullable<QuestionTerms['text']>): JsonSchema {
  const { maxLength = DEFAULT_TEXT_CHARACTERS } = text === true ? {} : Object(text);
  if (
    text !== true &&
    (!isRecord(text) || !Number.isSafeInteger(maxLength) || maxLength < 1 || maxLength > MAX_TEXT_CHARACTERS)
  )
    throw invalidInput('`text`', `true, or { maxLength } from 1 to ${MAX_TEXT_CHARACTERS}`, text);
  return { type: 'string', minLength: 1, maxLength };
}

/** Several choices in the order of the question, so that people who chose the same gave the same answer. */
export function sortSelection(schema: JsonSchema, value: unknown): unknown {
  const { uniqueItems, items } = schema;
  const order = schemasOf(isRecord(items) ? items.oneOf : undefined).map((member) => member.const);
  if (uniqueItems !== true || order.length === 0 || !Array.isArray(value)) return value;
  return value.toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
}

/** Refuses a schema that is too large to be stored with a request. */
export function checkSchemaSize(what: string, schema: JsonSchema): JsonSchema {
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > MAX_SCHEMA_BYTES)
    throw invalidInput(what, `at most ${MAX_SCHEMA_BYTES / 1024} KB as JSON`, `${bytes} bytes`);
  return schema;
}
