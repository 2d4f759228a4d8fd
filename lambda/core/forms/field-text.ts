import { isDeepStrictEqual } from 'node:util';
import { findJsonError, formatJsonError } from '../json-error-position.ts';
import { TEXT_FORMATS } from './describe-schema.ts';
import type { FormChoice, FormField, TextInput } from './form-field.ts';

/** A field that is not a group of fields. */
export type LeafField = Exclude<FormField, { readonly kind: 'group' | 'fixed' }>;

// A browser changes other control characters, and lone surrogates, when it submits a form.
const isSubmittable = (text: string): boolean => text.isWellFormed() && !/(?![\t\n\r])\p{Cc}/u.test(text);

/** The position of a value among choices; -1 if it is not one of them. */
export const choiceIndex = (choices: readonly FormChoice[], value: unknown): number =>
  choices.findIndex((choice) => isDeepStrictEqual(choice.value, value));

/**
 * The field as it shows a current value: with several lines, or as JSON, where that is the only way. Undefined if the
 * value is none that the field could have.
 */
export function fieldShowing(field: LeafField, current: unknown): LeafField | undefined {
  switch (field.kind) {
    case 'text':
      if (typeof current !== 'string') return undefined;
      if (!isSubmittable(current)) return { ...field, kind: 'json' };
      return { ...field, input: inputShowing(field.input, current) };
    case 'number':
      return typeof current === 'number' && Number.isFinite(current) ? field : undefined;
    case 'choice':
      return choiceIndex(field.choices, current) < 0 ? undefined : field;
    case 'choices':
      return Array.isArray(current) && isSelection(field.choices, current) ? field : undefined;
    case 'list':
      if (!Array.isArray(current) || !current.every((each) => isItem(field.item, each))) return undefined;
      return current.every((each) => isLine(String(each))) ? field : { ...field, kind: 'json' };
    case 'json':
      return field;
  }
}

const isSelection = (choices: readonly FormChoice[], values: readonly unknown[]): boolean =>
  values.every((value) => choiceIndex(choices, value) >= 0) && new Set(values).size === values.length;

const isItem = (item: 'text' | 'number', value: unknown): boolean =>
  typeof value === (item === 'text' ? 'string' : 'number');

const isLine = (text: string): boolean => text.trim() !== '' && !/[\n\r]/.test(text) && isSubmittable(text);

/** How a text is entered that may have several lines, or that is not the date that its field is for. */
function inputShowing(input: TextInput, text: string): TextInput {
  if (/[\n\r]/.test(text)) return 'lines';
  return input === 'lines' || input === 'line' || fromInput(input, toInput(input, text)) !== undefined ? input : 'line';
}

/** The text of a field that has a value. */
export function toFieldText(field: LeafField, value: unknown): string {
  if (value === undefined || value === null) return '';
  switch (field.kind) {
    case 'text':
      return toInput(field.input, String(value));
    case 'number':
      return String(value);
    case 'choice':
      return String(choiceIndex(field.choices, value));
    case 'choices':
      return selectionText(field.choices, (choice) => Array.isArray(value) && value.includes(choice.value));
    case 'list':
      return [value].flat().join('\n');
    case 'json':
      return JSON.stringify(value, undefined, 2);
  }
}

/** The numbers of the selected choices. */
export const selectionText = (
  choices: readonly FormChoice[],
  isSelected: (choice: FormChoice, index: number) => boolean,
): string => choices.flatMap((choice, i) => (isSelected(choice, i) ? i : [])).join();

/** A value, or what is wrong with the text. */
export type ParsedText = { readonly value: unknown } | { readonly problem: string };

/** The value that a text in a field means; the text is not blank. */
export function parseFieldText(field: LeafField, text: string): ParsedText {
  switch (field.kind) {
    case 'text': {
      const value = fromInput(field.input, text);
      return value === undefined ? { problem: `Enter ${TEXT_FORMATS[field.input]?.what ?? 'text'}.` } : { value };
    }
    case 'number':
      return parseNumber(text, field.limits ?? (field.isWhole ? 'a whole number' : 'a number'));
    case 'choice': {
      const choice = /^\d+$/.test(text) ? field.choices[Number(text)] : undefined;
      return choice ? { value: choice.value } : { problem: 'Choose one of the options.' };
    }
    case 'choices':
      return { value: text.split(',').flatMap((index) => field.choices[Number(index)]?.value ?? []) };
    case 'list':
      return parseLines(field.item, text);
    case 'json':
      return parseJsonText(text);
  }
}

function parseNumber(text: string, expected: string): ParsedText {
  const trimmed = text.trim();
  const value = Number(trimmed);
  const isNumber = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(trimmed) && Number.isFinite(value);
  return isNumber ? { value } : { problem: `Enter ${expected}.` };
}

function parseLines(item: 'text' | 'number', text: string): ParsedText {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (item === 'text') return { value: lines };
  const parsed = lines.map((line) => parseNumber(line, 'one number on each line'));
  const wrong = parsed.find((each) => 'problem' in each);
  return wrong ?? { value: parsed.flatMap((each) => ('value' in each ? each.value : [])) };
}

function parseJsonText(text: string): ParsedText {
  const mistake = findJsonError(text);
  return mistake ? { problem: `Enter JSON. ${formatJsonError(mistake)}.` } : { value: JSON.parse(text) };
}

/** The text of an input of the browser, which has no time zone. */
const toInput = (input: TextInput, text: string): string => {
  if (input !== 'date-time' || Number.isNaN(Date.parse(text))) return text;
  return new Date(text).toISOString().replace(/(:00)?\.000Z$/, '');
};

/** The text of a value; times are in UTC. Undefined if the text is not of the format. */
function fromInput(input: TextInput, text: string): string | undefined {
  if (input === 'line' || input === 'lines') return text;
  const trimmed = text.trim();
  const isLocal = input === 'date-time' && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?$/.test(trimmed);
  const value = isLocal ? `${trimmed}${trimmed.length === 16 ? ':00' : ''}Z` : trimmed;
  return TEXT_FORMATS[input]?.fits(value) ? value : undefined;
}
