import type { WaitstateError } from '../errors.ts';
import { invalidInput } from '../invalid-input.ts';
import { choiceIndex, type LeafField, parseFieldText, selectionText } from './field-text.ts';
import { type FormChoice, type FormField, toForm } from './form-field.ts';
import type { JsonSchema } from './json-schema.ts';
import { RefusedValueError } from './refused-value-error.ts';
import { readForm } from './submitted-form.ts';

/** An answer in one line: the labels of choices, text as it is, and anything else as JSON. */
export function describeAnswer(schema: JsonSchema, value: unknown): string {
  const form = toForm(schema);
  if (form.kind === 'choice') return labelOf(form.choices, value);
  if (form.kind === 'choices' && Array.isArray(value))
    return value.map((each) => labelOf(form.choices, each)).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const labelOf = (choices: readonly FormChoice[], value: unknown): string =>
  choices[choiceIndex(choices, value)]?.label ?? (typeof value === 'string' ? value : JSON.stringify(value));

/** The answer that a person wrote as text: choices by value or label, JSON for what is no single value. */
export function parseAnswerText(schema: JsonSchema, text: string): unknown {
  const form = toForm(schema);
  return parseLeafText(form.kind === 'group' || form.kind === 'fixed' ? { ...form, kind: 'json' } : form, text);
}

/**
 * The answer that a person wrote as texts by field: `seat`, or `seat.row` for a field of a group. Fields that are not
 * given have the defaults of the schema.
 */
export function parseAnswerFields(
  schema: JsonSchema,
  given: readonly (readonly [name: string, text: string])[],
): unknown {
  const form = toForm(schema);
  if (form.kind !== 'group')
    throw invalidInput('The answer', 'a single value, because this question has no fields', given[0]?.[0]);
  const texts = new Map<string, string>();
  for (const [name, text] of given) {
    const field = findByName(form, name);
    if (texts.has(field.path)) throw invalidInput('The answer', 'each field once', `"${name}" twice`);
    texts.set(field.path, text.trim() === '' ? '' : toSubmitted(field, text));
    // A form submits one field for each selected choice.
    if (field.kind === 'choices')
      for (const index of (texts.get(field.path) ?? '').split(',')) texts.set(`${field.path}/${index}`, 'on');
  }
  const { value, problems } = readForm(form, (path) => texts.get(path), undefined);
  if (problems.length > 0) throw new RefusedValueError('value', problems);
  return value;
}

/** The field of a form with this name. */
function findByName(form: FormField & { readonly kind: 'group' }, name: string, within = ''): LeafField {
  for (const field of form.fields) {
    const known = within + field.name;
    if (field.kind === 'group' && name.startsWith(`${known}.`)) return findByName(field, name, `${known}.`);
    if (field.kind !== 'group' && field.kind !== 'fixed' && name === known) return field;
  }
  const names = form.fields.filter(({ kind }) => kind !== 'fixed').map((field) => `"${within}${field.name}"`);
  throw invalidInput('A field of the answer', `one of ${names.slice(0, MAX_LISTED).join(', ')}`, name);
}

/** The value that a person wrote for one field. */
function parseLeafText(field: LeafField, text: string): unknown {
  const parsed = parseFieldText(field, toSubmitted(field, text));
  if ('value' in parsed) return parsed.value;
  throw refusedText(field, parsed.problem, text);
}

const refusedText = (field: LeafField, problem: string, text: string): WaitstateError =>
  invalidInput(field.name === '' ? 'The answer' : `"${field.name}"`, expectedText(field, problem), text);

/** The text as a form would submit it, with the numbers of choices. */
function toSubmitted(field: LeafField, text: string): string {
  if (field.kind === 'choice') {
    const chosen = findChoice(field.choices, text.trim());
    if (chosen < 0) throw refusedText(field, '', text);
    return String(chosen);
  }
  if (field.kind === 'list') return itemsOf(text).join('\n');
  if (field.kind !== 'choices') return text;
  const chosen = itemsOf(text).map((each) => findChoice(field.choices, each));
  if (chosen.includes(-1)) throw refusedText(field, '', text);
  return selectionText(field.choices, (_, i) => chosen.includes(i));
}

/** The items of a list: a JSON array, or texts between commas. */
function itemsOf(text: string): readonly string[] {
  if (text.trimStart().startsWith('['))
    try {
      return (JSON.parse(text) as unknown[]).map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
    } catch {
      // It is not JSON, so a text of the list begins with a bracket.
    }
  return text.split(',').map((each) => each.trim());
}

/** The choice with this value or, if there is none, with this label. */
const findChoice = (choices: readonly FormChoice[], text: string): number => {
  const byValue = choices.findIndex(({ value }) => String(value) === text);
  return byValue >= 0 ? byValue : choices.findIndex(({ label }) => label === text);
};

const MAX_LISTED = 20;

/** What a field expects, as a phrase. */
function expectedText(field: LeafField, problem: string): string {
  if (field.kind !== 'choice' && field.kind !== 'choices') return problem.replace(/^Enter /, '').replace(/\.$/, '');
  const values = field.choices.slice(0, MAX_LISTED).map(({ value }) => JSON.stringify(value));
  const more = field.choices.length > MAX_LISTED ? ' …' : '';
  return field.kind === 'choice'
    ? `one of ${values.join(', ')}${more}`
    : `some of ${values.join(', ')}${more}, separated by commas`;
}
