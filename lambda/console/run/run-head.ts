import { hasEnded } from '../../core/status.ts';
import type { Caller } from '../../http/caller.ts';
import { may, OPERATE } from '../../http/roles.ts';
import type { RunView, Wait } from '../../operator/operator.ts';
import { shortened } from '../../operator/truncated-document.ts';
import { showDocument } from '../document/show-document.ts';
import { codeBlock } from '../document/show-text.ts';
import { count, folded, type Showing } from '../document/showing.ts';
import { type Html, html, type Part } from '../markup.ts';
import { notice } from '../notice.ts';
import { PATHS, query, type RunPageName } from '../paths.ts';
import { badge } from '../status-badge.ts';
import { text, visible } from '../text.ts';
import { ago, agoAndAt } from '../time.ts';

/** What is known of a run at a glance; the script puts it in place anew when it changed. */
export function runHead(run: RunView, caller: Caller, now: Date): Html {
  const { agent, owner, tags, parent } = run;
  return html`<div class="stacked" data-key="head" data-quiet data-rev="${run.status} ${run.version}">
<header class="head"><div>
<h1><span class="id">${text(run.run)}</span></h1>
<p class="line lead">${badge(run.status)}${agent !== undefined && html`<span>${text(agent)}</span>`}${owner !== undefined && html`<span>of ${text(owner)}</span>`}${
    parent &&
    html`<span>from <a href="${PATHS.checkpoint(parent.run, parent.version)}"><span class="id">${text(parent.run)}</span> at ${parent.version}</a></span>`
  }${tags.map((tag) => html`<span class="tag">${text(tag)}</span>`)}</p>
</div>${may(caller, OPERATE) && actions(run)}</header>
${waiting(run, now)}
${run.parked !== undefined && notice('bad', 'It cannot go on with the code that is deployed', html`<p>${text(run.parked)}</p>`)}
${run.error && (cancellation(run, run.error) ?? failure(run.error))}
${facts(run, now)}
</div>`;
}

/** What can be done to a run in its status; each leads to a page that says what will happen. */
function actions(run: RunView): Html {
  const link = (action: RunPageName, label: string, isThere: boolean) =>
    isThere && html`<a class="button" href="${PATHS.ofRun(run.run, action)}">${label}</a>`;
  const isOver = hasEnded(run.status);
  return html`<div class="actions">
${link('signal', 'Signal', run.isDurable && !isOver)}
${link('retry', 'Retry', run.isDurable && run.status === 'FAILED')}
${link('fork', 'Fork', !run.shredded)}
${link('rewind', 'Rewind', !run.shredded)}
${link('cancel', 'Cancel', run.isDurable && !isOver && run.status !== 'ENDING')}
</div>`;
}

function waiting({ run, waits, status, openApprovals }: RunView, now: Date): Html | false {
  const open = waits.filter(({ kind, name }) => kind !== 'approval' || openApprovals.includes(name));
  if (open.length === 0 || hasEnded(status)) return false;
  return notice(
    'wait',
    'It waits for',
    html`<ul class="waits">${open.slice(0, 50).map((wait) => html`<li>${waitOf(run, wait, now)}</li>`)}</ul>`,
    open.length > 50 && html`<p>and ${count(open.length - 50, 'more')}</p>`,
  );
}

function waitOf(run: string, { kind, name, until }: Wait, now: Date): Part {
  const end = until && html` until ${agoAndAt(until, now)}`;
  switch (kind) {
    case 'approval':
      return html`an answer: ${text(name)} <a class="button" href="${PATHS.approval(run, name)}">Open the question</a>`;
    case 'signal':
      return html`the signal <a href="${PATHS.ofRun(run, 'signal')}${query({ name })}">${text(name)}</a>${end}`;
    case 'sleep':
      return html`the timer ${text(name)}${until && html`, which ends ${agoAndAt(until, now)}`}`;
    case 'call':
      return html`the run <a class="id" href="${PATHS.run(name)}">${text(name)}</a>`;
    case 'retry':
      return html`the next try of ${text(name)}${until && html`, ${agoAndAt(until, now)}`}`;
  }
}

/** That somebody wanted it to end is no fault. */
function cancellation({ run, status }: RunView, error: NonNullable<RunView['error']>): Html | undefined {
  const told = `Run "${run}" was cancelled`;
  if (status !== 'CANCELLED' && !(status === 'ENDING' && error.message.startsWith(told))) return undefined;
  const reason = error.message.startsWith(told)
    ? error.message.slice(told.length).replace(/^[:.] ?/, '')
    : error.message;
  return notice(
    'rest',
    status === 'CANCELLED' ? 'It was cancelled' : 'It is being cancelled: what it did is undone first',
    reason !== '' && html`<div class="text" dir="auto">${visible(reason)}</div>`,
    notUndone(error),
  );
}

function failure(error: NonNullable<RunView['error']>): Html {
  const { name, message, stack, failedAt } = error;
  return html`<div class="notice bad"><h2>${text(name)}</h2><div class="text" dir="auto">${visible(message)}</div>
${failedAt.length > 0 && html`<p>It came up at ${failedAt.map((step, i) => html`${i > 0 && ', then '}<code>${text(step)}</code>`)}.</p>`}
${notUndone(error)}
${stack !== undefined && folded('Where it came up', codeBlock(stack))}</div>`;
}

const notUndone = ({ notUndone: steps }: NonNullable<RunView['error']>): Html | false =>
  steps.length > 0 &&
  html`<p>This could not be undone: ${steps.map((step, i) => html`${i > 0 && ', '}<code>${text(step)}</code>`)}.</p>`;

function facts(run: RunView, now: Date): Html {
  const { createdAt, touchedAt, version, step, stepNumber, lease, dueAt, deadline, deliveries, retentionSeconds } = run;
  const fact = (label: string, value: Part) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
  const isHeld = lease !== undefined && lease.until > now;
  return html`<dl class="facts card">
${fact('Started', agoAndAt(createdAt, now))}
${fact('Last change of status', agoAndAt(touchedAt, now))}
${fact('Checkpoints', html`${version.toLocaleString('en')}${stepNumber > 0 && html` <span class="quiet">(${count(stepNumber, 'step')})</span>`}`)}
${step !== undefined && fact('Last step', text(step))}
${isHeld && fact('Held by', html`${text(lease.by)} <span class="quiet">until ${ago(lease.until, now)}</span>`)}
${dueAt && !hasEnded(run.status) && fact('Looked after next', ago(dueAt, now))}
${deadline && !hasEnded(run.status) && fact('Times out', agoAndAt(deadline, now))}
${deliveries > 1 && fact('Deliveries since it was ready', deliveries)}
${retentionSeconds !== undefined && fact('Kept for', count(Math.round(retentionSeconds / 86_400), 'day'))}
${run.encrypted && fact('Encrypted', run.shredded ? 'yes, and its key was destroyed' : 'yes')}
</dl>`;
}

const MOST_BYTES = 16 * 1024;

/** What went in and what came out. */
export function inAndOut({ input, result, version }: RunView, showing: Showing): Html | false {
  const card = (id: string, title: string, doc: typeof input) =>
    doc !== undefined &&
    html`<section class="card" aria-labelledby="${id}"><h2 id="${id}">${title}</h2><div class="doc">${showDocument(shortened(doc, MOST_BYTES).value, showing, { pointer: `/@${id}/value`, level: 0, from: 0 })}</div></section>`;
  const both = [card('input', 'Input', input), card('result', 'Result', result)];
  return (
    both.some(Boolean) &&
    html`<div class="pair" data-key="in-and-out" data-quiet data-rev="${result === undefined ? 'open' : version}">${both}</div>`
  );
}
