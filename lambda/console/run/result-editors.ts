import { show } from '../../checkpoints/documents.ts';
import type { RecordedResult } from '../../operator/recorded-results.ts';
import { jsonEditor, toEditableJson } from '../json-editor.ts';
import { type Html, html } from '../markup.ts';
import { userText } from '../text.ts';

/** The submitted fields of a form. */
type Form = Readonly<Record<string, string | undefined>>;

const MAX_EDITORS = 50;
const MAX_CHARACTERS = 128 * 1024;

/** Editors for recorded results: one for each result, and one for those that do not fit the page. */
export function resultEditors(recorded: readonly RecordedResult[], form: Form): Html | false {
  const operations = editableResults(recorded);
  if (operations.length === 0) return false;
  let remaining = MAX_CHARACTERS;
  const shown = operations.slice(0, MAX_EDITORS).filter((each) => {
    remaining -= currentJson(each).length;
    return remaining >= 0;
  });
  const isAll = shown.length === operations.length;
  return html`<fieldset class="results"><legend>Recorded results</legend>
<p class="hint">Completed operations do not run again. The fork continues with the results below.</p>
${shown.map((each, i) => resultEditor(each, `result-${i}`, form))}
${!isAll && otherResultsEditor(form)}</fieldset>`;
}

/** The results that a fork can replace: completed ones, without the internal entries of the runtime. */
const editableResults = (recorded: readonly RecordedResult[]): readonly RecordedResult[] =>
  recorded.filter(({ id, isCompleted }) => isCompleted && !id.startsWith('@'));

const currentJson = ({ value }: RecordedResult): string => (value === undefined ? '' : toEditableJson(value));

function resultEditor(recorded: RecordedResult, name: string, form: Form): Html {
  const { id, kind, value, error } = recorded;
  const current = currentJson(recorded);
  const given = form[`${name}-id`] === id ? (form[name] ?? '') : current;
  const brief = value ?? error;
  return html`<details class="result"${given !== current && html` open`}><summary><span class="id">${userText(id)}</span>${kind !== undefined && html` <span class="tag">${userText(kind)}</span>`} <span class="quiet">${error !== undefined && 'failed: '}${brief !== undefined && userText(show(brief))}</span></summary>
<input type="hidden" name="${name}-id" value="${id}">
${jsonEditor({ name, label: html`Result of <span class="id">${userText(id)}</span> (JSON)`, hint: error === undefined ? 'Leave empty to keep the recorded result.' : 'This operation failed, and fails again in the fork. To replace the error, enter a result (JSON).', value: given })}</details>`;
}

const otherResultsEditor = (form: Form): Html =>
  html`<details${form.results !== undefined && html` open`}><summary>Other results, by id</summary>${jsonEditor({
    name: 'results',
    label: 'Results by id (JSON)',
    hint: html`For recorded results that are not listed above, such as <code>{"the id": 270}</code>.`,
    value: form.results ?? '',
  })}</details>`;

/** The submitted results with their ids. */
export function submittedResults(form: Form): readonly (readonly [id: string, json: string])[] {
  return Object.entries(form).flatMap(([name, id]) => {
    const field = /^(result-\d{1,3})-id$/.exec(name)?.[1];
    const json = field === undefined ? undefined : form[field];
    return id === undefined || json === undefined ? [] : [[id, json] as const];
  });
}
