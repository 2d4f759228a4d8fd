import { isDeepStrictEqual } from 'node:util';
import { fieldShowing, type LeafField, parseFieldText, selectionText, toFieldText } from './field-text.ts';
import { type FieldProblem, REQUIRED } from './find-problems.ts';
import type { FormField } from './form-field.ts';
import { fieldOf, isRecord } from './json-schema.ts';

/** The text of a field by its path; undefined if the field was left empty. */
export type ReadText = (path: string) => string | undefined;

/** What a submitted form says. */
export interface SubmittedForm {
  /** Undefined if nothing was entered. */
  readonly value: unknown;
  readonly problems: readonly FieldProblem[];
  /** Whether any field differs from what the form showed. */
  readonly isChanged: boolean;
}

/** A field with its current value; the value is undefined where the field cannot have it. */
export function showField(field: LeafField, current: unknown): { readonly field: LeafField; readonly value: unknown } {
  const given = current ?? field.initial;
  const shown = given === undefined || given === null ? undefined : fieldShowing(field, given);
  return shown ? { field: shown, value: given } : { field, value: undefined };
}

/** Reads a form that showed the current value. A field that was left as it was keeps its exact value. */
export function readForm(field: FormField, read: ReadText, current: unknown): SubmittedForm {
  if (field.kind === 'fixed') return { value: field.value, problems: [], isChanged: false };
  if (field.kind === 'group') return readGroup(field, read, current);
  const shown = showField(field, current);
  const text = submittedText(shown.field, read);
  if (text === normalizeLines(toFieldText(shown.field, shown.value))) {
    if (shown.value !== undefined) return { value: shown.value, problems: [], isChanged: false };
    return { ...emptyValue(field, undefined), isChanged: false };
  }
  if (text.trim() === '') return { ...emptyValue(field, shown.value), isChanged: true };
  const parsed = parseFieldText(shown.field, text);
  if ('problem' in parsed)
    return { value: undefined, problems: [{ path: field.path, message: parsed.problem }], isChanged: true };
  return { value: parsed.value, problems: [], isChanged: !isDeepStrictEqual(parsed.value, shown.value) };
}

function readGroup(field: FormField & { readonly kind: 'group' }, read: ReadText, current: unknown): SubmittedForm {
  const parts = field.fields.map((each) => [each, readForm(each, read, fieldOf(current, each.name))] as const);
  const isChanged = parts.some(([, part]) => part.isChanged);
  const isEntered = parts.some(([{ kind }, { value }]) => kind !== 'fixed' && value !== undefined && value !== null);
  if (!isEntered && !field.isRequired) return { value: undefined, problems: [], isChanged };
  if (!isEntered && field.isNullable && !isRecord(current)) return { value: null, problems: [], isChanged };
  const entries = parts.flatMap(([each, { value }]) => (value === undefined ? [] : [[each.name, value] as const]));
  // Unlike an assignment, this never sets the prototype.
  return { value: Object.fromEntries(entries), problems: parts.flatMap(([, { problems }]) => problems), isChanged };
}

const normalizeLines = (text: string): string => text.replaceAll(/\r\n?/g, '\n');

/** The submitted text of a field; of several choices, the numbers of those that are selected. */
const submittedText = (field: LeafField, read: ReadText): string =>
  field.kind === 'choices'
    ? selectionText(field.choices, (_, i) => read(`${field.path}/${i}`) !== undefined)
    : normalizeLines(read(field.path) ?? '');

/** What a field means that was left empty, or was emptied. */
function emptyValue(field: LeafField, current: unknown): Omit<SubmittedForm, 'isChanged'> {
  if (!field.isRequired) return { value: undefined, problems: [] };
  if (field.isNullable) return { value: null, problems: [] };
  if (field.kind === 'choices' || field.kind === 'list') return { value: [], problems: [] };
  if (field.kind === 'text' && current !== undefined) return { value: '', problems: [] };
  return { value: undefined, problems: [{ path: field.path, message: REQUIRED }] };
}
