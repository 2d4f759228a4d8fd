import type { Caller } from '../../api/caller.ts';
import type { Doc } from '../../checkpoints/document/document.ts';
import type { DifferenceView } from '../../desk/desk.ts';
import { pieceOf } from '../../desk/piece.ts';
import { showDocument } from '../document/show-document.ts';
import { count } from '../document/showing.ts';
import { type Html, html } from '../markup.ts';
import { page } from '../page.ts';
import { PATHS } from '../paths.ts';
import { text, visible } from '../text.ts';

export interface DifferencePageView {
  readonly caller: Caller;
  readonly run: string;
  readonly before: number;
  readonly after: number;
  readonly difference: DifferenceView;
}

/** What changed in the state from one checkpoint to another. */
export function differencePage({ caller, run, before, after, difference }: DifferencePageView): Html {
  return page({
    title: `From checkpoint ${before} to ${after}`,
    caller,
    current: 'runs',
    body: html`<p class="crumbs"><a href="${PATHS.runs}">Runs</a> / <a href="${PATHS.run(run)}"><span class="id">${text(run)}</span></a></p>
<h1>From checkpoint ${before} to ${after}</h1>
<form method="get" class="line compare"><label for="before">From</label><input id="before" name="before" type="number" min="1" value="${before}" required><label for="after">to</label><input id="after" name="after" type="number" min="1" value="${after}" required><button>Compare</button></form>
<section class="card" id="changes" aria-labelledby="changes-title"><h2 id="changes-title">What changed in the state <span class="quiet">since <a href="${PATHS.checkpoint(run, before)}">checkpoint ${before}</a></span></h2>${changesIn(difference)}</section>`,
  });
}

const MOST = 100;
const MOST_BYTES = 4 * 1024;

function changesIn({ added, removed, changed }: DifferenceView): Html {
  const all = added.length + removed.length + changed.length;
  if (all === 0) return html`<p class="quiet">Nothing.</p>`;
  const rows = [
    ...changed.map(({ path, before, after }) => ({
      path,
      sign: '~',
      word: 'changed',
      content: () => change(before, after),
    })),
    ...added.map(({ path, value }) => ({
      path,
      sign: '+',
      word: 'added',
      content: () => html`<div class="after">${value_(value)}</div>`,
    })),
    ...removed.map(({ path, value }) => ({
      path,
      sign: '−',
      word: 'removed',
      content: () => html`<div class="before">${value_(value)}</div>`,
    })),
  ];
  const shown = rows
    .slice(0, MOST)
    .map(
      ({ path, sign, word, content }) =>
        html`<li class="${word}"><p><span class="sign" aria-hidden="true">${sign}</span> <code>${text(path)}</code> <span class="quiet">${word}</span></p><div class="doc">${content()}</div></li>`,
    );
  return html`<p class="quiet">${count(changed.length, 'change')}, ${added.length} added, ${removed.length} removed</p>
<ul class="changes">${shown}</ul>${rows.length > MOST && html`<p class="quiet">${count(rows.length - MOST, 'more change')} can be had from the API or with holdpoint diff.</p>`}`;
}

const value_ = (doc: Doc): Html => showDocument(pieceOf(doc, '', MOST_BYTES)?.value ?? null);

/** Both values; of long texts only the lines that differ. */
function change(before: Doc, after: Doc): Html {
  if (typeof before === 'string' && typeof after === 'string' && `${before}${after}`.includes('\n'))
    return lines(before, after);
  return html`<div class="before"><del>${value_(before)}</del></div><div class="after"><ins>${value_(after)}</ins></div>`;
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
    html`<span class="${kind}">${sign}${visible(each)}\n</span>`;
  const cut = (all: readonly string[]) => (all.length > MOST_LINES ? [...all.slice(0, MOST_LINES), '…'] : all);
  const same = line('same', ' ');
  return html`<pre class="code diff" dir="ltr"><code>${old.slice(Math.max(0, start - AROUND), start).map(same)}${cut(old.slice(start, old.length - end)).map(line('removed', '-'))}${cut(now.slice(start, now.length - end)).map(line('added', '+'))}${old.slice(old.length - end, old.length - end + AROUND).map(same)}</code></pre>`;
}
