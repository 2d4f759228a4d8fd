import { findJsonError, formatJsonError } from '../core/json-error-position.ts';
import { type Html, type HtmlValue, html } from './markup.ts';
import { escapeHiddenJson, revealHidden } from './text.ts';

/** Options of {@link jsonEditor}. */
export interface JsonEditorOptions {
  /** The name of the field and id of the element. */
  readonly name: string;
  readonly label: HtmlValue;
  readonly hint?: HtmlValue;
  /** The current text, which may be invalid JSON. */
  readonly value: string;
  readonly isRequired?: boolean;
  readonly isTall?: boolean;
  /** JSON that the user can copy into the field. */
  readonly source?: string | undefined;
}

/** A field for JSON that shows where it is invalid: from the server, and from the script while the user types. */
export function jsonEditor({
  name,
  label,
  hint,
  value,
  isRequired = false,
  isTall = false,
  source,
}: JsonEditorOptions): Html {
  const mistake = value.trim() === '' && !isRequired ? undefined : findJsonError(value);
  return html`<div>
<label for="${name}">${label}</label>
${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
<textarea class="json${isTall && ' tall'}" id="${name}" name="${name}" spellcheck="false" autocapitalize="off" autocomplete="off"${isRequired && html` required`}${mistake && html` aria-invalid="true"`} aria-describedby="${hint ? `${name}-hint ` : ''}${name}-wrong">
${value}</textarea>
<p class="wrong" id="${name}-wrong" aria-live="polite">${mistake && formatJsonError(mistake)}</p>
${mistake && markedLine(value, mistake.line, mistake.column)}
${source !== undefined && html`<p class="more"><button type="button" hidden data-fill="${name}">Copy what is shown</button></p><pre id="${name}-source" hidden>${escapeHiddenJson(source)}</pre>`}
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
