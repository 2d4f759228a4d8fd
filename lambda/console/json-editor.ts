import { findJsonError, formatJsonError } from '../core/json-error-position.ts';
import { type Html, type HtmlValue, html } from './markup.ts';
import { escapeHiddenJson, revealHidden } from './text.ts';

/** Options of {@link jsonEditor}. */
export interface JsonEditorOptions {
  /** The name of the field. */
  readonly name: string;
  /** The id of the element. @default the name */
  readonly id?: string;
  readonly label: HtmlValue;
  readonly hint?: HtmlValue;
  /** The current text, which may be invalid JSON. */
  readonly value: string;
  readonly isRequired?: boolean;
  /** What is wrong with the value, apart from its syntax. */
  readonly problem?: string | undefined;
  readonly isTall?: boolean;
  /** JSON that the user can copy into the field. */
  readonly source?: string | undefined;
}

/** A field for JSON that shows where it is invalid: from the server, and from the script while the user types. */
export function jsonEditor({
  name,
  id = name,
  label,
  hint,
  value,
  isRequired = false,
  isTall = false,
  problem,
  source,
}: JsonEditorOptions): Html {
  const mistake = value.trim() === '' && !isRequired ? undefined : findJsonError(value);
  return html`<div>
<label for="${id}">${label}</label>
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
<textarea class="json${isTall && ' tall'}" id="${id}" name="${name}" spellcheck="false" autocapitalize="off" autocomplete="off"${isRequired && html` required`}${(mistake || problem !== undefined) && html` aria-invalid="true"`} aria-describedby="${hint ? `${id}-hint ` : ''}${id}-wrong">
${value}</textarea>
<p class="wrong" id="${id}-wrong" aria-live="polite">${mistake ? formatJsonError(mistake) : problem}</p>
${mistake && markedLine(value, mistake.line, mistake.column)}
${source !== undefined && html`<p class="more"><button type="button" hidden data-fill="${id}">Copy what is shown</button></p><pre id="${id}-source" hidden>${escapeHiddenJson(source)}</pre>`}
</div>`;
}

/** The invalid line, with a mark under the error. */
function markedLine(value: string, line: number, column: number): Html {
  const text = value.split('\n')[line - 1] ?? '';
  const start = Math.max(0, column - 60);
  const shown = text.slice(start, start + 80).trimEnd();
  return html`<pre class="code"><code>${revealHidden(shown)}
${' '.repeat(column - 1 - start)}^</code></pre>`;
}

/** A document as editable JSON, with invisible characters escaped. */
export const toEditableJson = (value: unknown): string => escapeHiddenJson(JSON.stringify(value, undefined, 2) ?? '');
