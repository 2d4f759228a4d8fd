import { show } from '../../checkpoints/documents.ts';
import type { Doc } from '../../checkpoints/engine.ts';
import type { CheckpointView } from '../../operator/operator.ts';
import { listRecordedResults } from '../../operator/recorded-results.ts';
import { compareLines, type LinePair } from '../document/compare-lines.ts';
import { pluralize } from '../document/show-options.ts';
import { type Html, html } from '../markup.ts';
import { revealHidden } from '../text.ts';

const CONTEXT_LINES = 3;
const MAX_CHARACTERS = 512 * 1024;
const MAX_LINE = 2000;
// More equal lines are only counted, and more lines around changes are left out, so that the page stays small.
const MIN_FOLDED = 3;
const MAX_FOLDED = 200;
const MAX_SHOWN = 1000;

/** Two checkpoints side by side: state and recorded results as JSON, with what is equal folded. */
export function sideBySide(before: CheckpointView, after: CheckpointView): Html {
  return html`<h3>State</h3>
${part(before.state, after.state)}
<h3>Recorded results</h3>
${part(resultsOf(before), resultsOf(after))}`;
}

/** The results by id, as the page of a checkpoint lists them. */
const resultsOf = (checkpoint: CheckpointView): Doc =>
  Object.fromEntries(
    listRecordedResults(checkpoint).map(({ id, value, error, lastFailure, isCompleted }) => [
      id,
      isCompleted ? (value ?? error ?? null) : { waiting: lastFailure ?? true },
    ]),
  );

function part(before: Doc, after: Doc): Html {
  const [left, right] = [toLines(before), toLines(after)];
  if (!left || !right)
    return html`<p class="quiet">This is too large to compare side by side. Use <code>waitstate diff</code>.</p>`;
  const pairs = compareLines(left, right);
  if (pairs.every(({ isSame }) => isSame)) return html`<p class="quiet">No changes.</p>`;
  return html`<div class="side" dir="ltr">${fold(pairs)}</div>`;
}

function toLines(doc: Doc): readonly string[] | undefined {
  const text = JSON.stringify(doc, undefined, 2) ?? show(doc);
  // Without commas at the end, since the last line of a list differs in nothing else.
  return text.length > MAX_CHARACTERS ? undefined : text.replace(/,$/gm, '').split('\n');
}

/** The lines, with equal ones folded except a few around each change. */
function fold(pairs: readonly LinePair[]): readonly Html[] {
  const isShown = pairs.map((_, i) =>
    pairs.slice(Math.max(0, i - CONTEXT_LINES), i + CONTEXT_LINES + 1).some(({ isSame }) => !isSame),
  );
  const parts: Html[] = [];
  let shown = 0;
  for (let i = 0; i < pairs.length; ) {
    let end = i;
    while (end < pairs.length && isShown[end] === isShown[i]) end += 1;
    if (isShown[i]) shown += end - i;
    if (shown > MAX_SHOWN)
      return [
        ...parts,
        html`<p class="quiet">and ${pluralize(pairs.length - i, 'more line')}: use <code>waitstate diff</code>.</p>`,
      ];
    parts.push(isShown[i] ? html`${pairs.slice(i, end).map(row)}` : equalLines(pairs.slice(i, end)));
    i = end;
  }
  return parts;
}

function equalLines(pairs: readonly LinePair[]): Html {
  const words = pluralize(pairs.length, 'equal line');
  if (pairs.length < MIN_FOLDED) return html`${pairs.map(row)}`;
  if (pairs.length > MAX_FOLDED) return html`<p class="quiet">${words}</p>`;
  return html`<details><summary>${words}</summary>${pairs.map(row)}</details>`;
}

function row({ before, after, isSame }: LinePair): Html {
  if (isSame) return html`<div class="row"><code>${lineText(before)}</code><code>${lineText(after)}</code></div>`;
  const cell = (kind: 'del' | 'ins', text: string | undefined) =>
    text === undefined
      ? html`<span class="gap"></span>`
      : kind === 'del'
        ? html`<code class="before"><del>${lineText(text)}</del></code>`
        : html`<code class="after"><ins>${lineText(text)}</ins></code>`;
  return html`<div class="row">${cell('del', before)}${cell('ins', after)}</div>`;
}

const lineText = (text = '') =>
  revealHidden(
    text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}… (${text.length.toLocaleString('en')} characters)` : text,
  );
