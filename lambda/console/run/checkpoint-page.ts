import { type Doc, isFields, specialOf } from '../../checkpoints/document/document.ts';
import { show } from '../../checkpoints/document/render.ts';
import type { Caller } from '../../http/caller.ts';
import { pathId } from '../../http/path-id.ts';
import { may, OPERATE } from '../../http/roles.ts';
import type { CheckpointView } from '../../operator/operator.ts';
import { inOrder } from '../../operator/recorded-results.ts';
import { pieceOf, pointerTo, shortened } from '../../operator/truncated-document.ts';
import { writeCost } from '../../operator/write-cost.ts';
import { runCrumbs } from '../crumbs.ts';
import { showDocument } from '../document/show-document.ts';
import { count, left, type Showing } from '../document/showing.ts';
import { sizeOf } from '../document/sizes.ts';
import { type Html, html, type Part } from '../markup.ts';
import { page } from '../page.ts';
import { PATHS, query } from '../paths.ts';
import { badge } from '../status-badge.ts';
import { plain, text } from '../text.ts';
import { agoAndAt } from '../time.ts';
import { conversation, messagesIn } from './conversation.ts';

/** The parts of a checkpoint that have pages of their own. */
export type CheckpointPart = 'state' | 'results';

const MOST_BYTES = 32 * 1024;
const MOST_RESULTS = 100;
const RESULT_BYTES = 4 * 1024;

/** How documents of a checkpoint are shown: payloads and pieces have URLs. */
export const showingOf = (run: string, version: number, part: CheckpointPart): Showing => ({
  payloadUrl: (id) => `/api/runs/${pathId(run)}/checkpoints/${version}/payloads/${pathId(id)}`,
  pieceUrl: (at, from) => `${PATHS.checkpoint(run, version)}${query({ part, at, from: from || undefined })}`,
});

export interface CheckpointPageView {
  readonly caller: Caller;
  readonly checkpoint: CheckpointView;
  /** The newest version of the run. */
  readonly newest: number;
  readonly now: Date;
}

/** One checkpoint, opened: its state, its results, its model, what it took. */
export function checkpointPage({ caller, checkpoint, newest, now }: CheckpointPageView): Html {
  const { run, version, step, kind, model } = checkpoint;
  const before = version > 1 ? version - 1 : undefined;
  return page({
    title: `Checkpoint ${version} of ${plain(run)}`,
    caller,
    current: 'runs',
    body: html`${runCrumbs(run)}
<header class="head"><div><h1>Checkpoint ${version}${step !== undefined && html`: ${text(step)}`}</h1>
<p class="line lead">${badge(checkpoint.status)}${kind !== 'save' && html`<span class="tag">${kind}</span>`}</p></div>
<div class="actions">
${before !== undefined && html`<a class="button" rel="prev" href="${PATHS.checkpoint(run, before)}">Before</a>`}
${version < newest && html`<a class="button" rel="next" href="${PATHS.checkpoint(run, version + 1)}">Next</a>`}
${may(caller, OPERATE) && html`<a class="button" href="${PATHS.ofRun(run, 'fork')}${query({ version })}">Fork from here</a><a class="button" href="${PATHS.ofRun(run, 'rewind')}${query({ version })}">Rewind to here</a>`}
</div></header>
${facts(checkpoint, now)}
${before !== undefined && changes(run, before, version)}
${memory(checkpoint)}
${results(checkpoint)}
${isFields(model) && html`<section class="card" aria-labelledby="model"><h2 id="model">Model parameters</h2><div class="doc">${showDocument(model)}</div></section>`}`,
  });
}

function facts(checkpoint: CheckpointView, now: Date): Html {
  const { savedAt, writer, bytes, hash, restored, parent, name, labels, schema, version, run, payloads } = checkpoint;
  const { writeUnits, puts } = writeCost(checkpoint);
  const fact = (label: string, value: Part) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
  return html`<dl class="facts card">
${fact('Saved', agoAndAt(savedAt, now))}
${fact('Written by', text(writer))}
${fact('Size', html`${sizeOf(bytes)} <span class="quiet">(about ${count(writeUnits, 'write unit')}${puts > 0 && ` and ${count(puts, 'put')}`} on AWS)</span>`)}
${fact('Steps so far', checkpoint.stepNumber)}
${name !== undefined && fact('Name', text(name))}
${restored !== undefined && fact('Brings back', html`<a href="${PATHS.checkpoint(run, restored)}">checkpoint ${restored}</a>`)}
${parent && parent.run !== run && fact('Made from', html`<a href="${PATHS.checkpoint(parent.run, parent.version)}"><span class="id">${text(parent.run)}</span> at ${parent.version}</a>`)}
${schema !== undefined && fact('Schema', text(String(schema)))}
${payloads.length > 0 && fact('Payloads', `${payloads.length}, ${sizeOf(payloads.reduce((all, { size }) => all + size, 0))}`)}
${fact('Hash', html`<span class="id" title="${hash}">${hash.slice(0, 16)}…</span>`)}
${Object.entries(labels).map(([label, value]) => fact(plain(label), text(value)))}
</dl>
${version > 1 && compareForm(run, version)}`;
}

const compareForm = (run: string, version: number): Html =>
  html`<form method="get" action="${PATHS.ofRun(run, 'diff')}" class="line compare"><label for="before">Compare with checkpoint</label><input id="before" name="before" type="number" min="1" value="${version - 1}" required><input type="hidden" name="after" value="${version}"><button>Compare</button></form>`;

const changes = (run: string, before: number, version: number): Html =>
  html`<section class="card" id="changes" aria-labelledby="changes-title" data-load="${PATHS.ofRun(run, 'diff')}${query({ before, after: version })}"><h2 id="changes-title">What changed</h2><p><a href="${PATHS.ofRun(run, 'diff')}${query({ before, after: version })}">The difference from checkpoint ${before}</a></p></section>`;

/** The conversation and the state. */
function memory({ run, version, state }: CheckpointView): Html {
  const showing = showingOf(run, version, 'state');
  const messages = messagesIn(state);
  const shown =
    specialOf(state) === 'undefined'
      ? html`<p class="quiet">None: this agent keeps no state.</p>`
      : html`<div class="doc">${showDocument(shortened(state, MOST_BYTES).value, showing)}</div>`;
  return html`<section class="card" id="memory" aria-labelledby="memory-title"><h2 id="memory-title">${messages ? 'Conversation' : 'State'}</h2>
${messages ? html`${conversation(messages, showing)}<details><summary>The whole state</summary>${shown}</details>` : shown}</section>`;
}

function results({ run, version, toolResults, isDurable }: CheckpointView): Html | false {
  const ids = Object.keys(toolResults);
  if (ids.length === 0) return false;
  return html`<section class="card" aria-labelledby="results"><h2 id="results">${isDurable ? 'Journal' : 'Results'} <span class="quiet">${ids.length.toLocaleString('en')}</span></h2>
${resultList(run, version, toolResults, 0)}</section>`;
}

function resultList(run: string, version: number, all: CheckpointView['toolResults'], from: number): Html {
  const showing = showingOf(run, version, 'results');
  const entries = inOrder(Object.entries(all)).slice(from, from + MOST_RESULTS);
  const rest = Object.keys(all).length - from - entries.length;
  return html`${entries.map(([id, doc]) => result(id, doc, showing))}
${rest > 0 && left(showing, { pointer: '', level: 0, from }, from + entries.length, count(rest, 'result'))}`;
}

function result(id: string, doc: Doc, showing: Showing): Html {
  const kind = isFields(doc) && typeof doc.kind === 'string' ? doc.kind : undefined;
  const brief = isFields(doc) && doc.value !== undefined ? doc.value : doc;
  const piece = shortened(doc, RESULT_BYTES).value;
  return html`<details class="result"><summary><span class="id">${text(id)}</span>${kind !== undefined && html` <span class="tag">${text(kind)}</span>`} <span class="quiet">${text(show(brief))}</span></summary>
<div class="doc">${showDocument(piece, showing, { pointer: pointerTo('', id), level: 0, from: 0 })}</div></details>`;
}

/** What a run remembers alone, for the page of the run. */
export const memoryPage = ({ caller, checkpoint }: CheckpointPageView): Html =>
  page({ title: `Checkpoint ${checkpoint.version}`, caller, current: 'runs', body: memory(checkpoint) });

/** A piece of a state or of results: a page of its own, or what the script puts where the last one ended. */
export function piecePage(
  { caller, checkpoint }: CheckpointPageView,
  part: CheckpointPart,
  at: string,
  from: number,
): Html | undefined {
  const { run, version, state, toolResults } = checkpoint;
  const whole = part === 'state' ? state : toolResults;
  const piece = pieceOf(whole, at, MOST_BYTES, { from });
  if (!piece) return undefined;
  const content =
    part === 'results' && at === ''
      ? resultList(run, version, toolResults, from)
      : showDocument(piece.value, showingOf(run, version, part), { pointer: at, level: 0, from });
  return page({
    title: `A piece of checkpoint ${version}`,
    caller,
    current: 'runs',
    body: html`${runCrumbs(run, html`<a href="${PATHS.checkpoint(run, version)}">Checkpoint ${version}</a>`)}
<h1>${part === 'state' ? 'State' : 'Results'} <span class="id">${text(at)}</span>${from > 0 && html` <span class="quiet">from ${from.toLocaleString('en')}</span>`}</h1>
<section class="card"><div class="doc" id="piece">${content}</div></section>`,
  });
}
