import type { LeafField } from '../../core/forms/field-text.ts';
import type { FormChoice, TextInput } from '../../core/forms/form-field.ts';
import { type Html, html } from '../markup.ts';
import { plainText, userText } from '../text.ts';

/** What the inputs of a field have in common. */
export interface InputAttributes {
  readonly id: string;
  readonly name: string;
  /** Whether the browser refuses to submit the form without a value. */
  readonly isRequired: boolean;
  readonly isInvalid: boolean;
  /** The ids of the hint and of what is wrong. */
  readonly describedBy: string;
}

type ChoiceField = LeafField & { readonly kind: 'choice' | 'choices' };

/** More choices than this open as a list. */
const MAX_RADIOS = 8;

/** Whether a field is a group of radio buttons or checkboxes. */
export const isButtonGroup = (field: LeafField): field is ChoiceField =>
  field.kind === 'choices' || (field.kind === 'choice' && field.choices.length <= MAX_RADIOS);

const describing = ({ isInvalid, describedBy }: InputAttributes): Html =>
  html`${isInvalid && html` aria-invalid="true"`}${describedBy !== '' && html` aria-describedby="${describedBy}"`}`;

/** The input of a field with one value. */
export function valueInput(field: LeafField, attributes: InputAttributes, text: string): Html {
  const { id, name, isRequired } = attributes;
  const common = html`id="${id}" name="${name}"${isRequired && html` required`}${describing(attributes)}`;
  if (field.kind === 'choice') {
    const option = (value: string, label: string) =>
      html`<option value="${value}"${value === text && html` selected`}>${label}</option>`;
    const none = field.isRequired ? 'Choose…' : 'None';
    return html`<select ${common}>${option('', none)}${field.choices.map(({ label }, i) => option(String(i), plainText(label)))}</select>`;
  }
  if (field.kind === 'list' || (field.kind === 'text' && field.input === 'lines'))
    return html`<textarea ${common} dir="auto">
${text}</textarea>`;
  return html`<input ${common} ${inputType(field)}${hasSeconds(field, text) && html` step="1"`} value="${text}" autocomplete="off">`;
}

/** Without this, a browser refuses a time with seconds. */
const hasSeconds = (field: LeafField, text: string): boolean =>
  field.kind === 'text' && field.input === 'date-time' && text.length > '2030-12-31T09:30'.length;

const INPUT_TYPES: Readonly<Record<TextInput, Html>> = {
  line: html`type="text" dir="auto"`,
  lines: html`type="text" dir="auto"`,
  email: html`type="email" inputmode="email" autocapitalize="off"`,
  uri: html`type="url" inputmode="url" autocapitalize="off"`,
  date: html`type="date"`,
  'date-time': html`type="datetime-local"`,
  time: html`type="time"`,
};

/** A number is text, because browsers drop what they do not accept in a field for numbers. */
function inputType(field: LeafField): Html {
  if (field.kind === 'number') return html`type="text" inputmode="${field.isWhole ? 'numeric' : 'decimal'}"`;
  return field.kind === 'text' ? INPUT_TYPES[field.input] : INPUT_TYPES.line;
}

/** Radio buttons, or checkboxes if several choices are possible. `isChecked` says which are on. */
export function choiceInputs(
  field: ChoiceField,
  attributes: InputAttributes,
  isChecked: (index: number) => boolean,
): Html {
  const { id, name, isRequired } = attributes;
  const isSingle = field.kind === 'choice';
  const input = (suffix: string, value: string, isOn: boolean) =>
    isSingle
      ? html`<input type="radio" id="${id}-${suffix}" name="${name}" value="${value}"${isRequired && html` required`}${isOn && html` checked`}>`
      : html`<input type="checkbox" id="${id}-${suffix}" name="${name}/${value}"${isOn && html` checked`}>`;
  const item = (box: Html, { label, description }: Omit<FormChoice, 'value'>) =>
    html`<li><label>${box}<span>${userText(label)}${description !== undefined && html`<span class="hint">${userText(description)}</span>`}</span></label></li>`;
  const items = field.choices.map((choice, i) => item(input(String(i), String(i), isChecked(i)), choice));
  const isNone = !field.choices.some((_, i) => isChecked(i));
  const none = isSingle && !field.isRequired && item(input('none', '', isNone), { label: 'None' });
  return html`<ul class="choices">${items}${none}</ul>`;
}
