import { hasEnded } from '../../core/status.ts';
import type { Caller } from '../../http/caller.ts';
import { hasRole, OPERATE_ROLES } from '../../http/roles.ts';
import type { RunView, Wait } from '../../operator/operator.ts';
import { truncateToBytes } from '../../operator/truncated-document.ts';
import { showDocument } from '../document/show-document.ts';
import { collapsed, pluralize, type ShowOptions } from '../document/show-options.ts';
import { codeBlock } from '../document/show-text.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { notice } from '../notice.ts';
import { PATHS, queryString, type RunPageName } from '../paths.ts';
import { statusBadge } from '../status-badge.ts';
import { revealHidden, userText } from '../text.ts';
import { relativeAndExactTime, relativeTime } from '../time.ts';

/** What is known of a run at a glance; the script puts it in place anew when it changed. */
export function runHead(run: RunView, caller: Caller, now: Date): Html {
  const { agent, owner, tags, parent } = run;
  return html`<div class="stacked" data-key="head" data-quiet data-rev="${run.status} ${run.version}">
<header class="head"><div>
<h1><span class="id">${userText(run.run)}</span></h1>
<p class="line lead">${statusBadge(run.status)}${agent !== undefined && html`<span>${userText(agent)}</span>`}${owner !== undefined && html`<span>of ${userText(owner)}</span>`}${
    parent &&
    html`<span>from <a href="${PATHS.checkpoint(parent.run, parent.version)}"><span class="id">${userText(parent.run)}</span> at ${parent.version}</a></span>`
  }${tags.map((tag) => html`<span class="tag">${userText(tag)}</span>`)}</p>
</div>${hasRole(caller, OPERATE_ROLES) && actions(run)}</header>
${waiting(run, now)}
${run.parked !== undefined && notice('bad', 'It cannot go on with the code that is deployed', html`<p>${userText(run.parked)}</p>`)}
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
    open.length > 50 && html`<p>and ${pluralize(open.length - 50, 'more')}</p>`,
  );
}

function waitOf(run: string, { kind, name, until }: Wait, now: Date): HtmlValue {
  const end = until && html` until ${relativeAndExactTime(until, now)}`;
  switch (kind) {
    case 'approval':
      return html`an answer: ${userText(name)} <a class="button" href="${PATHS.approval(run, name)}">Open the question</a>`;
    case 'signal':
      return html`the signal <a href="${PATHS.ofRun(run, 'signal')}${queryString({ name })}">${userText(name)}</a>${end}`;
    case 'sleep':
      return html`the timer ${userText(name)}${until && html`, which ends ${relativeAndExactTime(until, now)}`}`;
    case 'call':
      return html`the run <a class="id" href="${PATHS.run(name)}">${userText(name)}</a>`;
    case 'retry':
      return html`the next try of ${userText(name)}${until && html`, ${relativeAndExactTime(until, now)}`}`;
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
    reason !== '' && html`<div class="text" dir="auto">${revealHidden(reason)}</div>`,
    notUndone(error),
  );
}

function failure(error: NonNullable<RunView['error']>): Html {
  const { name, message, stack, failedAt } = error;
  return html`<div class="notice bad"><h2>${userText(name)}</h2><div class="text" dir="auto">${revealHidden(message)}</div>
${failedAt.length > 0 && html`<p>It came up at ${failedAt.map((step, i) => html`${i > 0 && ', then '}<code>${userText(step)}</code>`)}.</p>`}
${notUndone(error)}
${stack !== undefined && collapsed('Where it came up', codeBlock(stack))}</div>`;
}

const notUndone = ({ notUndone: steps }: NonNullable<RunView['error']>): Html | false =>
  steps.length > 0 &&
  html`<p>This could not be undone: ${steps.map((step, i) => html`${i > 0 && ', '}<code>${userText(step)}</code>`)}.</p>`;

function facts(run: RunView, now: Date): Html {
  const { createdAt, touchedAt, version, step, stepNumber, lease, dueAt, deadline, deliveries, retentionSeconds } = run;
  const fact = (label: string, value: HtmlValue) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
  const isHeld = lease !== undefined && lease.until > now;
  return html`<dl class="facts card">
${fact('Started', relativeAndExactTime(createdAt, now))}
${fact('Last change of status', relativeAndExactTime(touchedAt, now))}
${fact('Checkpoints', html`${version.toLocaleString('en')}${stepNumber > 0 && html` <span class="quiet">(${pluralize(stepNumber, 'step')})</span>`}`)}
${step !== undefined && fact('Last step', userText(step))}
${isHeld && fact('Held by', html`${userText(lease.by)} <span class="quiet">until ${relativeTime(lease.until, now)}</span>`)}
${dueAt && !hasEnded(run.status) && fact('Looked after next', relativeTime(dueAt, now))}
${deadline && !hasEnded(run.status) && fact('Times out', relativeAndExactTime(deadline, now))}
${deliveries > 1 && fact('Deliveries since it was ready', deliveries)}
${retentionSeconds !== undefined && fact('Kept for', pluralize(Math.round(retentionSeconds / 86_400), 'day'))}
${run.encrypted && fact('Encrypted', run.shredded ? 'yes, and its key was destroyed' : 'yes')}
</dl>`;
}

const MOST_BYTES = 16 * 1024;

/** What went in and what came out. */
export function inputAndResult({ input, result, version }: RunView, showing: ShowOptions): Html | false {
  const card = (id: string, title: string, doc: typeof input) =>
    doc !== undefined &&
    html`<section class="card" aria-labelledby="${id}"><h2 id="${id}">${title}</h2><div class="doc">${showDocument(truncateToBytes(doc, MOST_BYTES).value, showing, { pointer: `/@${id}/value`, level: 0, from: 0 })}</div></section>`;
  const both = [card('input', 'Input', input), card('result', 'Result', result)];
  return (
    both.some(Boolean) &&
    html`<div class="pair" data-key="in-and-out" data-quiet data-rev="${result === undefined ? 'open' : version}">${both}</div>`
  );
}
