import type { KnownAgent } from '../../http/app-options.ts';
import type { Caller } from '../../http/caller.ts';
import { jsonEditor, toEditableJson } from '../json-editor.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { type ProblemSummary, problemNotice } from '../notice.ts';
import { page } from '../page.ts';
import { PATHS, queryString } from '../paths.ts';
import { userText } from '../text.ts';

/** The submitted fields of the form. */
type StartForm = Readonly<Record<string, string>>;

/** What {@link startPage} shows. */
export interface StartView {
  readonly caller: Caller;
  readonly agents: readonly KnownAgent[];
  readonly agent?: string | undefined;
  /** The run whose input the form starts with. */
  readonly from?: { readonly run: string; readonly input?: string | undefined } | undefined;
  readonly formValues?: StartForm | undefined;
  readonly problem?: ProblemSummary | undefined;
  /** An idempotency key, so that submitting the form twice starts one run. */
  readonly key: string;
}

/** The form that starts a run, prefilled with the example input of the agent. */
export function startPage({ caller, agents, agent, from, formValues: given = {}, problem, key }: StartView): Html {
  const chosen =
    agents.find(({ name }) => name === (given.agent ?? agent)) ?? (agent === undefined ? agents[0] : undefined);
  const field = (name: string, label: string, hint: string) =>
    html`<div><label for="${name}">${label} <span class="quiet">(optional)</span></label><input id="${name}" name="${name}" value="${given[name] ?? ''}" maxlength="2000" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="${name}-hint"><p class="hint" id="${name}-hint">${hint}</p></div>`;
  return page({
    title: 'Start a run',
    caller,
    current: 'start',
    isNarrow: true,
    body: html`<h1>Start a run</h1>
${problem && problemNotice(problem)}
${agents.length > 1 && !from && agentTabs(agents, chosen)}
<section class="card" aria-labelledby="new"><h2 id="new">${chosen ? html`New run of ${userText(chosen.name)}` : 'New run'}</h2>
${chosen?.description !== undefined && html`<p>${userText(chosen.description)}</p>`}
<form method="post" action="${PATHS.start}" class="stack">
<input type="hidden" name="key" value="${given.key ?? key}">
${
  chosen
    ? html`<input type="hidden" name="agent" value="${chosen.name}">`
    : html`<div><label for="agent">Agent</label><input id="agent" name="agent" value="${given.agent ?? agent ?? ''}" required maxlength="256" autocomplete="off" autocapitalize="off" spellcheck="false"></div>`
}
${jsonEditor({
  name: 'input',
  label: 'Input (JSON)',
  hint: inputHint(from, chosen),
  value: given.input ?? from?.input ?? toEditableJson(chosen?.example ?? {}),
  isRequired: true,
})}
${field('id', 'Id', 'A repeated id starts only one run. Generated if empty.')}
<div class="two">${field('owner', 'Owner', 'You can filter runs by owner.')}${field('tags', 'Tags', 'Separate tags with commas.')}</div>
${(caller.decidesForOthers || caller.startsForOthers) && field('requestedBy', 'Requested by', 'The person who requests the run, such as user:ann. Approvals can exclude them.')}
<button class="primary">Start run</button>
</form></section>`,
  });
}

function inputHint(from: StartView['from'], chosen: KnownAgent | undefined): HtmlValue {
  if (from?.input !== undefined)
    return html`The input of run <a href="${PATHS.run(from.run)}">${userText(from.run)}</a>. Change it as needed; that run stays as it is.`;
  return chosen?.example === undefined ? 'The input of the agent.' : 'Prefilled with an example. Change it as needed.';
}

const agentTabs = (agents: readonly KnownAgent[], chosen: KnownAgent | undefined): Html =>
  html`<ul class="tabs" aria-label="Agents">${agents.map(
    ({ name }) =>
      html`<li><a href="${PATHS.start}${queryString({ agent: name })}"${name === chosen?.name && html` aria-current="true"`}>${userText(name)}</a></li>`,
  )}</ul>`;
