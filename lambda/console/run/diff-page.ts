import type { Doc } from '../../checkpoints/engine.ts';
import type { Caller } from '../../http/caller.ts';
import type { CheckpointView, DiffView } from '../../operator/operator.ts';
import type { RecordedResult } from '../../operator/recorded-results.ts';
import { truncateToBytes } from '../../operator/truncated-document.ts';
import { runBreadcrumbs } from '../crumbs.ts';
import { showDocument } from '../document/show-document.ts';
import { pluralize } from '../document/show-options.ts';
import { type Html, html } from '../markup.ts';
import { page } from '../page.ts';
import { PATHS, queryString } from '../paths.ts';
import { revealHidden, userText } from '../text.ts';
import { type CheckpointChoice, checkpointPicker } from './checkpoint-picker.ts';
import { sideBySide } from './side-by-side.ts';

/** What {@link diffPage} shows. */
export interface DiffPageView {
  readonly caller: Caller;
  readonly run: string;
  readonly before: number;
  readonly after: number;
  /** The changes, or both checkpoints to show them side by side. */
  readonly shown: DiffView | readonly [before: CheckpointView, after: CheckpointView];
  /** The checkpoints to choose from. */
  readonly choices: readonly CheckpointChoice[];
  readonly now: Date;
}

/** The page that compares two checkpoints: changes of the state, and results recorded in between. */
export function diffPage({ caller, run, before, after, shown, choices, now }: DiffPageView): Html {
  const isSide = 'length' in shown;
  const tab = (label: string, view: string | undefined, isCurrent: boolean) =>
    html`<li><a href="${PATHS.ofRun(run, 'diff')}${queryString({ before, after, view })}"${isCurrent && html` aria-current="true"`}>${label}</a></li>`;
  return page({
    title: `Checkpoint ${before} to ${after}`,
    caller,
    current: 'runs',
    body: html`${runBreadcrumbs(run)}
<h1>Checkpoint ${before} to ${after}</h1>
<form method="get" class="line compare">${checkpointPicker({ name: 'before', label: 'From', choices, chosen: before, now })}${checkpointPicker({ name: 'after', label: 'to', choices, chosen: after, now })}${isSide && html`<input type="hidden" name="view" value="side">`}<button>Compare</button></form>
<ul class="tabs" aria-label="View">${tab('Changes', undefined, !isSide)}${tab('Side by side', 'side', isSide)}</ul>
<section class="card" id="changes" aria-labelledby="changes-title"><h2 id="changes-title">Changes <span class="quiet">since <a href="${PATHS.checkpoint(run, before)}">checkpoint ${before}</a></span></h2>
${isSide ? sideBySide(...shown) : changes(shown)}</section>`,
  });
}

const changes = (diff: DiffView): Html => html`<h3>State</h3>
${stateChanges(diff)}
<h3>Recorded results</h3>
${resultChanges(diff)}`;

const MAX_ROWS = 100;
const MAX_BYTES = 4 * 1024;

function stateChanges({ added, removed, changed }: DiffView): Html {
  const all = added.length + removed.length + changed.length;
  if (all === 0) return html`<p class="quiet">No changes.</p>`;
  const rows = [
    ...changed.map(({ path, before, after }) => row('~', 'changed', path, () => bothValues(before, after))),
    ...added.map(({ path, value }) =>
      row('+', 'added', path, () => html`<div class="after">${showValue(value)}</div>`),
    ),
    ...removed.map(({ path, value }) =>
      row('−', 'removed', path, () => html`<div class="before">${showValue(value)}</div>`),
    ),
  ];
  return html`<p class="quiet">${pluralize(changed.length, 'change')}, ${added.length} added, ${removed.length} removed</p>
<ul class="changes">${rows.slice(0, MAX_ROWS).map((make) => make())}</ul>${rows.length > MAX_ROWS && html`<p class="quiet">${pluralize(rows.length - MAX_ROWS, 'more change')}: use the API or <code>waitstate diff</code> to see them.</p>`}`;
}

/** Results that were recorded, changed or removed, and operations that still wait. */
function resultChanges({ recorded: { added, removed, changed } }: DiffView): Html {
  const rows = [
    ...changed.map(({ before, after }) =>
      row('~', changeLabel(after, before), after.id, () => bothResults(before, after)),
    ),
    ...added.map((each) => row('+', changeLabel(each), each.id, () => showResult(each, 'after'))),
    ...removed.map((each) => row('−', 'removed', each.id, () => showResult(each, 'before'))),
  ];
  if (rows.length === 0) return html`<p class="quiet">No changes.</p>`;
  return html`<ul class="changes">${rows.slice(0, MAX_ROWS).map((make) => make())}</ul>${rows.length > MAX_ROWS && html`<p class="quiet">and ${pluralize(rows.length - MAX_ROWS, 'more')}</p>`}`;
}

function changeLabel({ isCompleted, lastFailure }: RecordedResult, before?: RecordedResult): string {
  if (isCompleted) return before?.isCompleted ? 'changed' : 'completed';
  return lastFailure === undefined ? 'waiting' : 'failed, will be retried';
}

const bothResults = (before: RecordedResult, after: RecordedResult): Html =>
  html`${before.isCompleted && showResult(before, 'before')}${showResult(after, 'after')}`;

function showResult({ kind, value, error, lastFailure }: RecordedResult, side: 'before' | 'after'): Html {
  const doc = value ?? error;
  return html`<div class="${side}">${kind !== undefined && html`<span class="tag">${userText(kind)}</span> `}${doc !== undefined && showValue(doc)}${lastFailure !== undefined && html`<div class="text" dir="auto">${revealHidden(lastFailure)}</div>`}</div>`;
}

/** A change, rendered only if it is shown. */
const row = (sign: string, word: string, path: string, content: () => Html) => (): Html =>
  html`<li><p><span class="sign" aria-hidden="true">${sign}</span> <code>${userText(path)}</code> <span class="quiet">${word}</span></p><div class="doc">${content()}</div></li>`;

const showValue = (doc: Doc): Html => showDocument(truncateToBytes(doc, MAX_BYTES).value);

/** Both values; for multi-line texts only the lines that differ. */
function bothValues(before: Doc, after: Doc): Html {
  if (typeof before === 'string' && typeof after === 'string' && `${before}${after}`.includes('\n'))
    return lineDiff(before, after);
  return html`<div class="before"><del>${showValue(before)}</del></div><div class="after"><ins>${showValue(after)}</ins></div>`;
}

const CONTEXT_LINES = 2;
const MAX_LINES = 200;

/** The lines that differ, without the common beginning and end. */
function lineDiff(before: string, after: string): Html {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const line = (kind: string, sign: string) => (each: string) =>
    html`<span class="${kind}">${sign}${revealHidden(each)}\n</span>`;
  const cut = (all: readonly string[]) => (all.length > MAX_LINES ? [...all.slice(0, MAX_LINES), '…'] : all);
  const same = line('same', ' ');
  return html`<pre class="code diff" dir="ltr"><code>${old.slice(Math.max(0, start - CONTEXT_LINES), start).map(same)}${cut(old.slice(start, old.length - end)).map(line('removed', '-'))}${cut(now.slice(start, now.length - end)).map(line('added', '+'))}${old.slice(old.length - end, old.length - end + CONTEXT_LINES).map(same)}</code></pre>`;
}
