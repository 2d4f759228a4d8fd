import { invalidInput } from '../invalid-input.ts';
import { choiceIndex, type LeafField, parseFieldText, selectionText } from './field-text.ts';
import { type FormChoice, toForm } from './form-field.ts';
import type { JsonSchema } from './json-schema.ts';

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

/** The value that a person wrote for one field. */
export function parseLeafText(field: LeafField, text: string): unknown {
  const parsed = parseFieldText(field, toSubmitted(field, text));
  if ('value' in parsed) return parsed.value;
  throw invalidInput(field.name === '' ? 'The answer' : `"${field.name}"`, expectedText(field, parsed.problem), text);
}

/** The text as a form would submit it, with the numbers of choices. */
function toSubmitted(field: LeafField, text: string): string {
  if (field.kind === 'choice') return String(findChoice(field.choices, text));
  if (field.kind === 'list') return text.split(',').join('\n');
  if (field.kind !== 'choices') return text;
  const chosen = text.split(',').map((each) => findChoice(field.choices, each.trim()));
  if (chosen.includes(-1)) throw invalidInput('The answer', expectedText(field, ''), text);
  return selectionText(field.choices, (_, i) => chosen.includes(i));
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
