import { type Html, html } from '../markup.ts';
import { PATHS, queryString } from '../paths.ts';
import { plainText } from '../text.ts';
import { isFiltered, PERIOD_LABELS, type RunsForm } from './runs-query.ts';

/** The filters of the list of runs. The form uses GET, so each search has a URL. */
export function filterForm(form: RunsForm, agents: readonly string[]): Html {
  const { status, ...others } = form;
  const field = (name: 'id' | 'agent' | 'owner' | 'tag' | 'step', label: string, placeholder = '') =>
    html`<div><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${form[name] ?? ''}" placeholder="${placeholder}" maxlength="256" autocomplete="off" autocapitalize="off" spellcheck="false"></div>`;
  const moment = (name: 'from' | 'to', label: string) =>
    html`<div class="moment"><label for="${name}">${label} <span data-zone>(UTC)</span></label><input id="${name}" name="${name}" type="datetime-local" value="${form[name] ?? ''}" data-utc></div>`;
  return html`<details class="filter"${isFiltered(others) && html` open`}><summary>Search</summary>
<form method="get" action="${PATHS.runs}" role="search" aria-label="Runs" class="filters">
${status && html`<input type="hidden" name="status" value="${status}">`}
${field('id', 'Run', 'Part of the id')}${agents.length > 0 ? agentList(form.agent, agents) : field('agent', 'Agent')}${field('owner', 'Owner')}${field('tag', 'Tag')}${field('step', 'Step', 'Name or number')}
<div><label for="period">Last change</label><select id="period" name="period"><option value="">Any time</option>${Object.entries(
    PERIOD_LABELS,
  ).map(
    ([value, label]) => html`<option value="${value}"${value === form.period && html` selected`}>${label}</option>`,
  )}</select></div>
${moment('from', 'From')}${moment('to', 'To')}
<div class="actions"><button>Search</button>${isFiltered(others) && html`<a class="button" href="${PATHS.runs}${queryString({ status })}">Clear</a>`}</div>
</form></details>`;
}

/** The known agents to choose from, and the chosen one even if it is not known. */
function agentList(chosen: string | undefined, agents: readonly string[]): Html {
  const names = chosen === undefined || agents.includes(chosen) ? agents : [...agents, chosen];
  return html`<div><label for="agent">Agent</label><select id="agent" name="agent"><option value="">Any agent</option>${names.map(
    (name) => html`<option value="${name}"${name === chosen && html` selected`}>${plainText(name)}</option>`,
  )}</select></div>`;
}
