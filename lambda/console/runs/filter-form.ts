import { type Html, html } from '../markup.ts';
import { PATHS, queryString } from '../paths.ts';
import { plainText } from '../text.ts';
import { isFiltered, PERIOD_LABELS, type RunsForm } from './runs-query.ts';

/** The filters of the list of runs. The form uses GET, so each search has a URL. */
export function filterForm(form: RunsForm, agents: readonly string[]): Html {
  const { status, ...others } = form;
  const field = (name: 'id' | 'agent' | 'owner' | 'tag' | 'step', label: string, placeholder = '') =>
    html`<div><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${form[name] ?? ''}" placeholder="${placeholder}" maxlength="256" autocomplete="off" autocapitalize="off" spellcheck="false"${name === 'agent' && html` list="agents"`}></div>`;
  return html`<details class="filter"${isFiltered(others) && html` open`}><summary>Search</summary>
<form method="get" action="${PATHS.runs}" role="search" aria-label="Runs" class="filters">
${status && html`<input type="hidden" name="status" value="${status}">`}
${field('id', 'Run', 'part of the id')}${field('agent', 'Agent')}${field('owner', 'Owner')}${field('tag', 'Tag')}${field('step', 'Step', 'name or number')}
<div><label for="period">Last change</label><select id="period" name="period"><option value="">Any time</option>${Object.entries(
    PERIOD_LABELS,
  ).map(
    ([value, label]) => html`<option value="${value}"${value === form.period && html` selected`}>${label}</option>`,
  )}</select></div>
<div class="moment"><label for="from">From (UTC)</label><input id="from" name="from" type="datetime-local" value="${form.from ?? ''}"></div>
<div class="moment"><label for="to">To (UTC)</label><input id="to" name="to" type="datetime-local" value="${form.to ?? ''}"></div>
<div class="actions"><button>Search</button>${isFiltered(others) && html`<a class="button" href="${PATHS.runs}${queryString({ status })}">Clear</a>`}</div>
<datalist id="agents">${agents.map((agent) => html`<option value="${plainText(agent)}"></option>`)}</datalist>
</form></details>`;
}
