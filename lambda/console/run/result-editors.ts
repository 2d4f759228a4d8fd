import { show } from '../../checkpoints/engine.ts';
import type { RecordedResult } from '../../operator/recorded-results.ts';
import { jsonEditor, toEditableJson } from '../json-editor.ts';
import { type Html, html } from '../markup.ts';
import { userText } from '../text.ts';

/** What a form had in its fields. */
type Form = Readonly<Record<string, string | undefined>>;

const MOST = 50;
const MOST_CHARACTERS = 128 * 1024;

/** The fields of a form that change what is recorded: one for each result, and one for those that do not fit. */
export function resultEditors(recorded: readonly RecordedResult[], form: Form): Html | false {
  const operations = changeable(recorded);
  if (operations.length === 0) return false;
  let room = MOST_CHARACTERS;
  const offered = operations.slice(0, MOST).filter((each) => {
    room -= currentOf(each).length;
    return room >= 0;
  });
  const isAll = offered.length === operations.length;
  return html`<fieldset class="results"><legend>Recorded results</legend>
<p class="hint">What is recorded is not run again: it goes on as if each had given what stands here.</p>
${offered.map((each, i) => resultEditor(each, `result-${i}`, form))}
${!isAll && restEditor(form)}</fieldset>`;
}

/** Which results a fork can have others of: those that are over, without what the runtime keeps for itself. */
const changeable = (recorded: readonly RecordedResult[]): readonly RecordedResult[] =>
  recorded.filter(({ id, isCompleted: isOver }) => isOver && !id.startsWith('@'));

const currentOf = ({ value }: RecordedResult): string => (value === undefined ? '' : toEditableJson(value));

function resultEditor(recorded: RecordedResult, name: string, form: Form): Html {
  const { id, kind, value, error } = recorded;
  const current = currentOf(recorded);
  const given = form[`${name}-id`] === id ? (form[name] ?? '') : current;
  const brief = value ?? error;
  return html`<details class="result"${given !== current && html` open`}><summary><span class="id">${userText(id)}</span>${kind !== undefined && html` <span class="tag">${userText(kind)}</span>`} <span class="quiet">${error !== undefined && 'failed: '}${brief !== undefined && userText(show(brief))}</span></summary>
<input type="hidden" name="${name}-id" value="${id}">
${jsonEditor({ name, label: html`What <span class="id">${userText(id)}</span> gave, as JSON`, hint: error === undefined ? 'Left empty, it stays as it is.' : 'It failed, and does so again. With JSON here, it gives that.', value: given })}</details>`;
}

const restEditor = (form: Form): Html =>
  html`<details${form.results !== undefined && html` open`}><summary>Others, by id</summary>${jsonEditor({
    name: 'results',
    label: 'Results by id, as JSON',
    hint: html`For what is recorded and not in the list above, such as <code>{"the id": 270}</code>.`,
    value: form.results ?? '',
  })}</details>`;

/** Each result of a form with its id, as it was sent. */
export function submittedResults(form: Form): readonly (readonly [id: string, json: string])[] {
  return Object.entries(form).flatMap(([name, id]) => {
    const field = /^(result-\d{1,3})-id$/.exec(name)?.[1];
    const json = field === undefined ? undefined : form[field];
    return id === undefined || json === undefined ? [] : [[id, json] as const];
  });
}
