import { toMilliseconds } from '../../core/duration.ts';
import { hasEnded } from '../../core/status.ts';
import type { Caller } from '../../http/caller.ts';
import { hasRole, OPERATE_ROLES } from '../../http/roles.ts';
import { describeRefusal, describeRun } from '../../operator/describe-run.ts';
import { explainReady } from '../../operator/explain-ready.ts';
import { explainRetry } from '../../operator/explain-retry.ts';
import type { RunView, Wait } from '../../operator/operator.ts';
import { truncateToBytes } from '../../operator/truncated-document.ts';
import { showDocument } from '../document/show-document.ts';
import { collapsed, pluralize, type ShowOptions } from '../document/show-options.ts';
import { codeBlock } from '../document/show-text.ts';
import { formatDuration } from '../format-time.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { notice } from '../notice.ts';
import { PATHS, queryString, type RunPageName } from '../paths.ts';
import { runStatusBadge } from '../status-badge.ts';
import { revealHidden, userText } from '../text.ts';
import { relativeAndExactTime, relativeTime } from '../time.ts';

/** The head of a run's page: status, waits, errors and metadata. The script replaces it when the run changes. */
export function runHead(run: RunView, caller: Caller, agents: readonly string[], now: Date): Html {
  const { agent, owner, requestedBy, tags, parent, forked } = run;
  return html`<div class="stacked" data-key="head" data-quiet data-rev="${run.status} ${run.version}">
<header class="head"><div>
<h1><span class="id">${userText(run.run)}</span></h1>
<p class="line lead">${runStatusBadge(run)}${agent !== undefined && html`<span>${userText(agent)}</span>`}${owner !== undefined && html`<span><span class="quiet">owner:</span> ${userText(owner)}</span>`}${requestedBy !== undefined && html`<span><span class="quiet">requested by:</span> ${userText(requestedBy)}</span>`}${
    parent &&
    html`<span><span class="quiet">${forked ? 'forked from' : 'started by'}</span> <a href="${PATHS.checkpoint(parent.run, parent.version)}"><span class="id">${userText(parent.run)}</span> at checkpoint ${parent.version}</a></span>`
  }${tags.map((tag) => html`<a class="tag" href="${PATHS.runs}${queryString({ tag })}">${userText(tag)}</a>`)}</p>
</div>${hasRole(caller, OPERATE_ROLES) && actions(run)}</header>
${readyNotice(run, agents, now)}
${outcomeNotice(run)}
${run.leftOutBytes === undefined ? runNotices(run, now) : briefNotice(run)}
${factList(run, now)}
</div>`;
}

/** What the run waits for, and why it failed or was cancelled. */
export const runNotices = (run: RunView, now: Date): Html =>
  html`${waitNotice(run, now)}
${run.error && (cancellationNotice(run, run.error) ?? failureNotice(run, run.error))}`;

/** The same in a line, for a run whose content was not loaded. */
function briefNotice(run: RunView): Html | false {
  const { status, waitsFor, pendingApprovals } = run;
  const isStopped = status === 'FAILED' || status === 'CANCELLED';
  if (!isStopped && waitsFor === undefined) return false;
  const links = pendingApprovals
    .slice(0, 10)
    .map((id) => html`<a class="button" href="${PATHS.approval(run.run, id)}">Open request ${userText(id)}</a> `);
  return notice(
    status === 'FAILED' ? 'bad' : isStopped ? 'neutral' : 'wait',
    isStopped ? userText(capitalize(describeRun(run))) : html`Waiting for ${userText(describeRun(run))}`,
    links.length > 0 && html`<p class="actions">${links}</p>`,
  );
}

const capitalize = (text: string): string => text.replace(/^./u, (first) => first.toUpperCase());

/** Links to the actions that the status of the run allows. */
function actions(run: RunView): Html {
  const link = (action: RunPageName, label: string, isThere: boolean) =>
    isThere && html`<a class="button" href="${PATHS.ofRun(run.run, action)}">${label}</a>`;
  const isEnded = hasEnded(run.status);
  return html`<div class="actions">
${link('signal', 'Signal', run.isDurable && !isEnded)}
${run.isDurable && run.status === 'FAILED' && explainRetry(run) === undefined && html`<a class="button primary" href="${PATHS.ofRun(run.run, 'retry')}">Retry</a>`}
${run.isDurable && isEnded && run.agent !== undefined && html`<a class="button" href="${PATHS.start}${queryString({ from: run.run })}">Start again</a>`}
${link('fork', 'Fork', !run.shredded)}
${link('rewind', 'Rewind', !run.shredded)}
${link('cancel', 'Cancel', run.isDurable && !isEnded && run.status !== 'ENDING')}
</div>`;
}

function waitNotice({ run, waits, status, pendingApprovals }: RunView, now: Date): Html | false {
  const open = waits.filter(({ kind, name }) => kind !== 'approval' || pendingApprovals.includes(name));
  if (open.length === 0 || hasEnded(status)) return false;
  return notice(
    'wait',
    'Waiting for',
    html`<ul class="waits">${open.slice(0, 50).map((wait) => html`<li>${describeWait(run, wait, now)}</li>`)}</ul>`,
    open.length > 50 && html`<p>and ${pluralize(open.length - 50, 'more')}</p>`,
  );
}

function describeWait(run: string, { kind, name, until, failures, lastFailure }: Wait, now: Date): HtmlValue {
  const end = until && html`, until ${relativeAndExactTime(until, now)}`;
  switch (kind) {
    case 'approval':
      return html`approval: ${userText(name)} <a class="button primary" href="${PATHS.approval(run, name)}">Open request</a>`;
    case 'signal':
      return html`signal <a href="${PATHS.ofRun(run, 'signal')}${queryString({ name })}">${userText(name)}</a>${end}`;
    case 'sleep':
      return html`timer ${userText(name)}${until && html`, ends ${relativeAndExactTime(until, now)}`}`;
    case 'call':
      return html`child run <a class="id" href="${PATHS.run(name)}">${userText(name)}</a>`;
    case 'retry':
      return html`next attempt of ${userText(name)}${until && html`, ${relativeAndExactTime(until, now)}`}${lastFailure !== undefined && html`. ${failures !== undefined && failures > 1 ? `${failures} attempts failed, the last one with` : 'The first attempt failed with'}: <span class="text" dir="auto">${revealHidden(lastFailure)}</span>`}`;
  }
}

/** The notice of a cancelled run, which is not an error. */
function cancellationNotice({ status }: RunView, error: NonNullable<RunView['error']>): Html | undefined {
  const isCancellation = error.code === 'RUN_CANCELLED';
  if (status !== 'CANCELLED' && !(status === 'ENDING' && isCancellation)) return undefined;
  const reason = isCancellation ? error.reason : error.message;
  return notice(
    'neutral',
    status === 'CANCELLED' ? 'Cancelled' : 'Being cancelled: completed steps are undone first',
    reason !== undefined && html`<div class="text" dir="auto">${revealHidden(reason)}</div>`,
    notUndone(error),
  );
}

function failureNotice(run: RunView, error: NonNullable<RunView['error']>): Html {
  const retry = run.isDurable ? explainRetry(run) : undefined;
  const { name, message, code, stack, causes, failedOperations } = error;
  return html`<div class="notice bad"><h2>${userText(name)}${code !== undefined && html` <code>${userText(code)}</code>`}</h2><div class="text" dir="auto">${revealHidden(message)}</div>
${failedOperations.length > 0 && html`<p>Failed at ${failedOperations.map((step, i) => html`${i > 0 && ', then '}<code>${userText(step)}</code>`)}.</p>`}
${causes.map((cause) => html`<p>Caused by ${userText(cause.name)}${cause.code !== undefined && html` <code>${userText(cause.code)}</code>`}: <span class="text" dir="auto">${revealHidden(cause.message)}</span></p>`)}
${notUndone(error)}
${retry !== undefined && html`<p>A retry would fail again. ${retry} <a href="${PATHS.start}${queryString({ from: run.run })}">Start again with another input</a>, or <a href="${PATHS.ofRun(run.run, 'retry')}">retry</a> after you deployed other code.</p>`}
${stack !== undefined && collapsed('Stack trace', codeBlock(stack))}</div>`;
}

/** Why a READY run is not running. One that became ready just now needs no explanation. */
function readyNotice(run: RunView, agents: readonly string[], now: Date): Html | false {
  const ready = explainReady(run, agents);
  if (!ready || (ready.reason === 'queued' && now.getTime() - ready.since.getTime() < QUEUED_MS)) return false;
  const isBad = ready.reason === 'parked' || ready.reason === 'unknown agent';
  return notice(
    isBad ? 'bad' : 'wait',
    html`Ready, but not running since ${relativeAndExactTime(ready.since, now)}`,
    html`<p>${userText(ready.text)}</p>`,
  );
}

const QUEUED_MS = 10_000;

/** What people decided, for a run that succeeded without getting what it asked for. */
function outcomeNotice(run: RunView): Html | false {
  const refusal = run.status === 'SUCCEEDED' ? describeRefusal(run) : undefined;
  if (refusal === undefined) return false;
  const { text } = run.outcome ?? {};
  return notice(
    'neutral',
    html`The request was ${userText(refusal)}`,
    text !== undefined && html`<p>The run ended with: ${userText(text)}</p>`,
  );
}

const notUndone = ({ notUndone: steps }: NonNullable<RunView['error']>): Html | false =>
  steps.length > 0 &&
  html`<p>Could not be undone: ${steps.map((step, i) => html`${i > 0 && ', '}<code>${userText(step)}</code>`)}.</p>`;

function factList(run: RunView, now: Date): Html {
  const { createdAt, updatedAt, version, step, stepNumber, lease, dueAt, deadline, deliveries, retention } = run;
  const fact = (label: string, value: HtmlValue) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
  const isHeld = lease !== undefined && lease.until > now;
  return html`<dl class="facts card">
${fact('Started', relativeAndExactTime(createdAt, now))}
${fact('Last status change', relativeAndExactTime(updatedAt, now))}
${fact('Checkpoints', html`${version.toLocaleString('en')}${stepNumber > 0 && html` <span class="quiet">(${pluralize(stepNumber, 'step')})</span>`}`)}
${step !== undefined && fact('Last step', userText(step))}
${isHeld && fact('Running on', html`${userText(lease.by)}<span class="quiet">, lease ends ${relativeTime(lease.until, now)}</span>`)}
${dueAt && !hasEnded(run.status) && fact('Next check', relativeTime(dueAt, now))}
${deadline && !hasEnded(run.status) && fact('Deadline', relativeAndExactTime(deadline, now))}
${deliveries > 1 && fact('Delivery attempts', deliveries)}
${retention && fact('Retention', formatDuration(toMilliseconds('`retention`', retention)))}
${run.encrypted && fact('Encrypted', run.shredded ? 'Yes, and the key is destroyed' : 'Yes')}
</dl>`;
}

const MAX_BYTES = 16 * 1024;

/** The input and the result of a run. */
export function inputAndResult({ input, result, version }: RunView, options: ShowOptions): Html | false {
  const card = (id: string, title: string, doc: typeof input) =>
    doc !== undefined &&
    html`<section class="card" aria-labelledby="${id}"><h2 id="${id}">${title}</h2><div class="doc">${showDocument(truncateToBytes(doc, MAX_BYTES).value, options, { pointer: `/@${id}/value`, level: 0, from: 0 })}</div></section>`;
  const both = [card('input', 'Input', input), card('result', 'Result', result)];
  return (
    both.some(Boolean) &&
    html`<div class="pair" data-key="in-and-out" data-quiet data-rev="${result === undefined ? 'open' : version}">${both}</div>`
  );
}
