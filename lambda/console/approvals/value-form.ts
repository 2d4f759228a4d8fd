import type { Doc } from '../../checkpoints/engine.ts';
import { type LeafField, toFieldText } from '../../core/forms/field-text.ts';
import type { FieldProblem } from '../../core/forms/find-problems.ts';
import type { FormField } from '../../core/forms/form-field.ts';
import { fieldOf } from '../../core/forms/json-schema.ts';
import { showField } from '../../core/forms/submitted-form.ts';
import { showDocument } from '../document/show-document.ts';
import { jsonEditor } from '../json-editor.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { escapeHiddenJson, userText } from '../text.ts';
import { FORM_FIELD, type SubmittedFields } from './submitted-decision.ts';
import { choiceInputs, type InputAttributes, isButtonGroup, valueInput } from './value-inputs.ts';

/** A form for an answer or for changes. */
export interface ValueForm {
  /** What the form is for; the names of its fields begin with it. */
  readonly name: 'value' | 'edits';
  readonly form: FormField;
  /** The value that it shows first. */
  readonly current: unknown;
  /** The submitted fields, after an error. */
  readonly given?: SubmittedFields | undefined;
  readonly problems: readonly FieldProblem[];
  /** The accessible name of a form with one field. */
  readonly title: string;
}

/** The fields of a form, each with its label, its hint and what is wrong with it. Works without JavaScript. */
export const valueForm = (of: ValueForm): Html =>
  html`<input type="hidden" name="${FORM_FIELD}" value="${of.name}">${fieldHtml(of, of.form, of.current)}`;

/** The id of a field's element, by its path: its position in the form, because names can have any character. */
export function fieldId({ name, form }: Pick<ValueForm, 'name' | 'form'>, path: string): string | undefined {
  const index = leaves(form).findIndex((field) => field.path === path || isInside(field, path));
  return index < 0 ? undefined : `${name}-${index}`;
}

/** The field that a path leads to, or into. */
export const findField = (form: FormField, path: string): FormField | undefined =>
  leaves(form).find((field) => field.path === path || isInside(field, path));

/** Whether a path leads into the value of a field, such as an item of a list. */
const isInside = ({ path }: FormField, inner: string): boolean => inner.startsWith(`${path}/`);

const leaves = (field: FormField): readonly FormField[] =>
  field.kind === 'group' ? field.fields.flatMap(leaves) : [field];

function fieldHtml(of: ValueForm, field: FormField, current: unknown): Html {
  if (field.kind === 'group') return groupHtml(of, field, current);
  if (field.kind === 'fixed')
    return html`<div><span class="label">${labelOf(of, field)}</span>${showDocument(field.value as Doc)}</div>`;
  const { field: shown, value } = showField(field, current);
  return leafHtml(of, shown, value);
}

function groupHtml(of: ValueForm, field: FormField & { readonly kind: 'group' }, current: unknown): Html {
  const fields = field.fields.map((each) => fieldHtml(of, each, fieldOf(current, each.name)));
  const hint = field.hint !== undefined && html`<p class="hint">${userText(field.hint)}</p>`;
  if (field.path === '') return html`${hint}${fields}`;
  return html`<fieldset class="group stack"><legend>${labelOf(of, field)}</legend>${hint}${fields}</fieldset>`;
}

function leafHtml(of: ValueForm, field: LeafField, value: unknown): Html {
  const { name: prefix, given } = of;
  const isGiven = given?.[FORM_FIELD] === prefix;
  const name = prefix + field.path;
  const id = fieldId(of, field.path) ?? prefix;
  const problem = of.problems.find(({ path }) => path === field.path || isInside(field, path))?.message;
  const hint = hintOf(field);
  const text = isGiven ? (given?.[name] ?? '') : toFieldText(field, value);
  const attributes: InputAttributes = {
    id,
    name,
    isRequired: prefix === 'value' && field.isRequired && !field.isNullable,
    isInvalid: problem !== undefined,
    describedBy: [hint && `${id}-hint`, problem !== undefined && `${id}-wrong`].filter((each) => each).join(' '),
  };
  const label = labelOf(of, field);
  if (field.kind === 'json') {
    const json = isGiven ? text : escapeHiddenJson(text);
    return jsonEditor({
      id,
      name,
      hint,
      problem,
      value: json,
      isRequired: attributes.isRequired,
      label: html`${label} <span class="quiet">(JSON)</span>`,
    });
  }
  const notes = hint && html`<p class="hint" id="${id}-hint">${hint}</p>`;
  const wrong = problem !== undefined && html`<p class="wrong" id="${id}-wrong">${problem}</p>`;
  const unseen = field.path === '' && html` class="unseen"`;
  if (!isButtonGroup(field))
    return html`<div><label for="${id}"${unseen}>${label}</label>${notes}${valueInput(field, attributes, text)}${wrong}</div>`;
  const selected = text.split(',');
  const isChecked = (i: number) =>
    isGiven && field.kind === 'choices' ? given?.[`${name}/${i}`] !== undefined : selected.includes(String(i));
  // The group itself is the target of links to what is wrong.
  return html`<fieldset id="${id}" tabindex="-1"${attributes.describedBy !== '' && html` aria-describedby="${attributes.describedBy}"`}><legend${unseen}>${label}</legend>${notes}${wrong}${choiceInputs(field, attributes, isChecked)}</fieldset>`;
}

function labelOf({ title, name: prefix }: ValueForm, { path, label, isRequired }: FormField): Html {
  if (path === '') return html`${userText(title)}`;
  return html`${userText(label)}${!isRequired && prefix === 'value' && html` <span class="quiet">(optional)</span>`}`;
}

/** What people must know before they enter a value. */
function hintOf(field: LeafField): HtmlValue {
  const { hint, limits, kind } = field;
  const parts = [
    hint !== undefined && html`${userText(hint)}${!/[.!?…]$/.test(hint) && limits !== undefined && '.'}`,
    limits !== undefined &&
      (kind === 'choices' ? `Choose ${limits}.` : `${limits.charAt(0).toUpperCase()}${limits.slice(1)}.`),
    kind === 'list' && 'One on each line.',
    kind === 'text' && field.input === 'date-time' && 'The time is in UTC.',
  ].filter((part) => part !== false);
  return parts.length > 0 && parts.map((part, i) => html`${i > 0 && ' '}${part}`);
}
