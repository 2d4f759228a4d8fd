import type { Doc } from '../../checkpoints/engine.ts';
import type { Caller } from '../../http/caller.ts';
import type { DiffView } from '../../operator/operator.ts';
import type { RecordedResult } from '../../operator/recorded-results.ts';
import { truncateToBytes } from '../../operator/truncated-document.ts';
import { runBreadcrumbs } from '../crumbs.ts';
import { showDocument } from '../document/show-document.ts';
import { pluralize } from '../document/show-options.ts';
import { type Html, html } from '../markup.ts';
import { page } from '../page.ts';
import { PATHS } from '../paths.ts';
import { revealHidden, userText } from '../text.ts';

export interface DiffPageView {
  readonly caller: Caller;
  readonly run: string;
  readonly before: number;
  readonly after: number;
  readonly diff: DiffView;
}

/** What changed in the state from one checkpoint to another, and what was recorded between them. */
export function diffPage({ caller, run, before, after, diff: difference }: DiffPageView): Html {
  return page({
    title: `From checkpoint ${before} to ${after}`,
    caller,
    current: 'runs',
    body: html`${runBreadcrumbs(run)}
<h1>From checkpoint ${before} to ${after}</h1>
<form method="get" class="line compare"><label for="before">From</label><input id="before" name="before" type="number" min="1" value="${before}" required><label for="after">to</label><input id="after" name="after" type="number" min="1" value="${after}" required><button>Compare</button></form>
<section class="card" id="changes" aria-labelledby="changes-title"><h2 id="changes-title">What changed <span class="quiet">since <a href="${PATHS.checkpoint(run, before)}">checkpoint ${before}</a></span></h2>
<h3>In the state</h3>
${changesIn(difference)}
<h3>Recorded</h3>
${recordedIn(difference)}</section>`,
  });
}

const MOST = 100;
const MOST_BYTES = 4 * 1024;

function changesIn({ added, removed, changed }: DiffView): Html {
  const all = added.length + removed.length + changed.length;
  if (all === 0) return html`<p class="quiet">Nothing.</p>`;
  const rows = [
    ...changed.map(({ path, before, after }) => row('~', 'changed', path, () => bothValues(before, after))),
    ...added.map(({ path, value }) => row('+', 'added', path, () => html`<div class="after">${shown(value)}</div>`)),
    ...removed.map(({ path, value }) =>
      row('−', 'removed', path, () => html`<div class="before">${shown(value)}</div>`),
    ),
  ];
  return html`<p class="quiet">${pluralize(changed.length, 'change')}, ${added.length} added, ${removed.length} removed</p>
<ul class="changes">${rows.slice(0, MOST).map((make) => make())}</ul>${rows.length > MOST && html`<p class="quiet">${pluralize(rows.length - MOST, 'more change')} can be had from the API or with waitstate diff.</p>`}`;
}

/** What operations gave, or went on to wait for. */
function recordedIn({ recorded: { added, removed, changed } }: DiffView): Html {
  const rows = [
    ...changed.map(({ before, after }) => row('~', wordOf(after, before), after.id, () => bothRecorded(before, after))),
    ...added.map((each) => row('+', wordOf(each), each.id, () => gave(each, 'after'))),
    ...removed.map((each) => row('−', 'removed', each.id, () => gave(each, 'before'))),
  ];
  if (rows.length === 0) return html`<p class="quiet">Nothing.</p>`;
  return html`<ul class="changes">${rows.slice(0, MOST).map((make) => make())}</ul>${rows.length > MOST && html`<p class="quiet">and ${pluralize(rows.length - MOST, 'more')}</p>`}`;
}

function wordOf({ isCompleted: isOver, lastFailure: because }: RecordedResult, before?: RecordedResult): string {
  if (isOver) return before?.isCompleted ? 'changed' : 'came';
  return because === undefined ? 'waits' : 'failed, and is tried again';
}

const bothRecorded = (before: RecordedResult, after: RecordedResult): Html =>
  html`${before.isCompleted && gave(before, 'before')}${gave(after, 'after')}`;

function gave({ kind, value, error, lastFailure: because }: RecordedResult, side: 'before' | 'after'): Html {
  const doc = value ?? error;
  return html`<div class="${side}">${kind !== undefined && html`<span class="tag">${userText(kind)}</span> `}${doc !== undefined && shown(doc)}${because !== undefined && html`<div class="text" dir="auto">${revealHidden(because)}</div>`}</div>`;
}

/** A change, made only where it is shown. */
const row = (sign: string, word: string, path: string, content: () => Html) => (): Html =>
  html`<li><p><span class="sign" aria-hidden="true">${sign}</span> <code>${userText(path)}</code> <span class="quiet">${word}</span></p><div class="doc">${content()}</div></li>`;

const shown = (doc: Doc): Html => showDocument(truncateToBytes(doc, MOST_BYTES).value);

/** Both values; of long texts only the lines that differ. */
function bothValues(before: Doc, after: Doc): Html {
  if (typeof before === 'string' && typeof after === 'string' && `${before}${after}`.includes('\n'))
    return lines(before, after);
  return html`<div class="before"><del>${shown(before)}</del></div><div class="after"><ins>${shown(after)}</ins></div>`;
}

const AROUND = 2;
const MOST_LINES = 200;

/** The lines between what two texts begin and end with alike. */
function lines(before: string, after: string): Html {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const line = (kind: string, sign: string) => (each: string) =>
    html`<span class="${kind}">${sign}${revealHidden(each)}\n</span>`;
  const cut = (all: readonly string[]) => (all.length > MOST_LINES ? [...all.slice(0, MOST_LINES), '…'] : all);
  const same = line('same', ' ');
  return html`<pre class="code diff" dir="ltr"><code>${old.slice(Math.max(0, start - AROUND), start).map(same)}${cut(old.slice(start, old.length - end)).map(line('removed', '-'))}${cut(now.slice(start, now.length - end)).map(line('added', '+'))}${old.slice(old.length - end, old.length - end + AROUND).map(same)}</code></pre>`;
}
