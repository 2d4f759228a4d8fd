import { show } from '../../checkpoints/documents.ts';
import { type Doc, isFields, specialOf } from '../../checkpoints/engine.ts';
import type { Caller } from '../../http/caller.ts';
import { encodePathId } from '../../http/path-id.ts';
import { hasRole, OPERATE_ROLES } from '../../http/roles.ts';
import type { CheckpointView } from '../../operator/operator.ts';
import { sortByCompletion } from '../../operator/recorded-results.ts';
import { appendPointer, truncateDocument, truncateToBytes } from '../../operator/truncated-document.ts';
import { writeCost } from '../../operator/write-cost.ts';
import { runBreadcrumbs } from '../crumbs.ts';
import { formatBytes } from '../document/format-bytes.ts';
import { showDocument } from '../document/show-document.ts';
import { moreLink, pluralize, type ShowOptions } from '../document/show-options.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { page } from '../page.ts';
import { PATHS, queryString } from '../paths.ts';
import { statusBadge } from '../status-badge.ts';
import { plainText, userText } from '../text.ts';
import { relativeAndExactTime } from '../time.ts';
import { type CheckpointChoice, checkpointPicker } from './checkpoint-picker.ts';
import { conversation, findMessages } from './conversation.ts';

/** The parts of a checkpoint that can be paged through. */
export type CheckpointPart = 'state' | 'results';

const MAX_BYTES = 32 * 1024;
const MAX_RESULTS = 100;
const MAX_RESULT_BYTES = 4 * 1024;

/** Render options for the documents of a checkpoint, with links to payloads and further parts. */
export const checkpointShowOptions = (run: string, version: number, part: CheckpointPart): ShowOptions => ({
  payloadUrl: (id) => `/api/runs/${encodePathId(run)}/checkpoints/${version}/payloads/${encodePathId(id)}`,
  partUrl: (at, from) => `${PATHS.checkpoint(run, version)}${queryString({ part, at, from: from || undefined })}`,
});

/** What {@link checkpointPage} shows. */
export interface CheckpointPageView {
  readonly caller: Caller;
  readonly checkpoint: CheckpointView;
  /** The newest version of the run. */
  readonly newest: number;
  /** The checkpoints to compare it with. */
  readonly choices: readonly CheckpointChoice[];
  readonly now: Date;
}

/** The page of a checkpoint: its metadata, changes, state, results and model parameters. */
export function checkpointPage({ caller, checkpoint, newest, choices, now }: CheckpointPageView): Html {
  const { run, version, step, kind, model } = checkpoint;
  const before = version > 1 ? version - 1 : undefined;
  return page({
    title: `Checkpoint ${version} of ${plainText(run)}`,
    caller,
    current: 'runs',
    body: html`${runBreadcrumbs(run)}
<header class="head"><div><h1>Checkpoint ${version}${step !== undefined && html`: ${userText(step)}`}</h1>
<p class="line lead">${statusBadge(checkpoint.status)}${kind !== 'save' && html`<span class="tag">${kind}</span>`}</p></div>
<div class="actions">
${before !== undefined && html`<a class="button" rel="prev" href="${PATHS.checkpoint(run, before)}">Previous</a>`}
${version < newest && html`<a class="button" rel="next" href="${PATHS.checkpoint(run, version + 1)}">Next</a>`}
${hasRole(caller, OPERATE_ROLES) && html`<a class="button" href="${PATHS.ofRun(run, 'fork')}${queryString({ version })}">Fork from here</a><a class="button" href="${PATHS.ofRun(run, 'rewind')}${queryString({ version })}">Rewind to here</a>`}
</div></header>
${factList(checkpoint, now)}
${newest > 1 && compareForm(run, version, choices, now)}
${before !== undefined && changes(run, before, version)}
${stateSection(checkpoint)}
${results(checkpoint)}
${isFields(model) && html`<section class="card" aria-labelledby="model"><h2 id="model">Model parameters</h2><div class="doc">${showDocument(model)}</div></section>`}`,
  });
}

function factList(checkpoint: CheckpointView, now: Date): Html {
  const { savedAt, writer, bytes, hash, restored, parent, name, labels, schema, run, payloads } = checkpoint;
  const { writeUnits, puts } = writeCost(checkpoint);
  const fact = (label: string, value: HtmlValue) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
  return html`<dl class="facts card">
${fact('Saved', relativeAndExactTime(savedAt, now))}
${fact('Written by', userText(writer))}
${fact('Size', html`${formatBytes(bytes)} <span class="quiet">(about ${pluralize(writeUnits, 'write unit')}${puts > 0 && ` and ${pluralize(puts, 'put')}`} on AWS)</span>`)}
${fact('Steps so far', checkpoint.stepNumber)}
${name !== undefined && fact('Name', userText(name))}
${restored !== undefined && fact('Restores', html`<a href="${PATHS.checkpoint(run, restored)}">checkpoint ${restored}</a>`)}
${parent && parent.run !== run && fact('Forked from', html`<a href="${PATHS.checkpoint(parent.run, parent.version)}"><span class="id">${userText(parent.run)}</span> at checkpoint ${parent.version}</a>`)}
${schema !== undefined && fact('Schema', userText(String(schema)))}
${payloads.length > 0 && fact('Payloads', `${payloads.length}, ${formatBytes(payloads.reduce((all, { size }) => all + size, 0))}`)}
${fact('Hash', html`<span class="id" title="${hash}">${hash.slice(0, 16)}…</span>`)}
${Object.entries(labels).map(([label, value]) => fact(plainText(label), userText(value)))}
</dl>`;
}

const compareForm = (run: string, version: number, choices: readonly CheckpointChoice[], now: Date): Html =>
  html`<form method="get" action="${PATHS.ofRun(run, 'diff')}" class="line compare">${checkpointPicker({
    name: 'before',
    label: 'Compare with',
    choices: choices.filter((choice) => choice.version !== version),
    chosen: version > 1 ? version - 1 : 2,
    now,
  })}<input type="hidden" name="after" value="${version}"><button>Compare</button></form>`;

const changes = (run: string, before: number, version: number): Html =>
  html`<section class="card" id="changes" aria-labelledby="changes-title" data-load="${PATHS.ofRun(run, 'diff')}${queryString({ before, after: version })}"><h2 id="changes-title">Changes</h2><p><a href="${PATHS.ofRun(run, 'diff')}${queryString({ before, after: version })}">Compare with checkpoint ${before}</a></p></section>`;

/** The state, or the conversation in it. */
function stateSection({ run, version, state }: CheckpointView): Html {
  const options = checkpointShowOptions(run, version, 'state');
  const messages = findMessages(state);
  const shown =
    specialOf(state) === 'undefined'
      ? html`<p class="quiet">This agent has no state.</p>`
      : html`<div class="doc">${showDocument(truncateToBytes(state, MAX_BYTES).value, options)}</div>`;
  return html`<section class="card" id="state" aria-labelledby="state-title"><h2 id="state-title">${messages ? 'Conversation' : 'State'}</h2>
${messages ? html`${conversation(messages, options)}<details><summary>Full state</summary>${shown}</details>` : shown}</section>`;
}

function results({ run, version, toolResults, isDurable }: CheckpointView): Html | false {
  const ids = Object.keys(toolResults);
  if (ids.length === 0) return false;
  return html`<section class="card" aria-labelledby="results"><h2 id="results">${isDurable ? 'Journal' : 'Results'} <span class="quiet">${ids.length.toLocaleString('en')}</span></h2>
${resultList(run, version, toolResults, 0)}</section>`;
}

function resultList(run: string, version: number, all: CheckpointView['toolResults'], from: number): Html {
  const options = checkpointShowOptions(run, version, 'results');
  const entries = sortByCompletion(Object.entries(all)).slice(from, from + MAX_RESULTS);
  const rest = Object.keys(all).length - from - entries.length;
  return html`${entries.map(([id, doc]) => result(id, doc, options))}
${rest > 0 && moreLink(options, { pointer: '', level: 0, from }, from + entries.length, pluralize(rest, 'result'))}`;
}

function result(id: string, doc: Doc, options: ShowOptions): Html {
  const kind = isFields(doc) && typeof doc.kind === 'string' ? doc.kind : undefined;
  const brief = isFields(doc) && doc.value !== undefined ? doc.value : doc;
  const truncated = truncateToBytes(doc, MAX_RESULT_BYTES).value;
  return html`<details class="result"><summary><span class="id">${userText(id)}</span>${kind !== undefined && html` <span class="tag">${userText(kind)}</span>`} <span class="quiet">${userText(show(brief))}</span></summary>
<div class="doc">${showDocument(truncated, options, { pointer: appendPointer('', id), level: 0, from: 0 })}</div></details>`;
}

/** The state alone, which the page of the run loads as a part. */
export const statePage = ({ caller, checkpoint }: CheckpointPageView): Html =>
  page({ title: `Checkpoint ${checkpoint.version}`, caller, current: 'runs', body: stateSection(checkpoint) });

/** A part of the state or results, as a page or for the script to insert; undefined if the pointer leads nowhere. */
export function documentPartPage(
  { caller, checkpoint }: CheckpointPageView,
  part: CheckpointPart,
  at: string,
  from: number,
): Html | undefined {
  const { run, version, state, toolResults } = checkpoint;
  const whole = part === 'state' ? state : toolResults;
  const truncated = truncateDocument(whole, at, MAX_BYTES, { from });
  if (!truncated) return undefined;
  const content =
    part === 'results' && at === ''
      ? resultList(run, version, toolResults, from)
      : showDocument(truncated.value, checkpointShowOptions(run, version, part), { pointer: at, level: 0, from });
  return page({
    title: `Part of checkpoint ${version}`,
    caller,
    current: 'runs',
    body: html`${runBreadcrumbs(run, html`<a href="${PATHS.checkpoint(run, version)}">Checkpoint ${version}</a>`)}
<h1>${part === 'state' ? 'State' : 'Results'} <span class="id">${userText(at)}</span>${from > 0 && html` <span class="quiet">from ${from.toLocaleString('en')}</span>`}</h1>
<section class="card"><div class="doc" id="document-part">${content}</div></section>`,
  });
}
