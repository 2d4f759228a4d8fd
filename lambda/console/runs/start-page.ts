import type { KnownAgent } from '../../http/app-options.ts';
import type { Caller } from '../../http/caller.ts';
import { jsonEditor, toEditableJson } from '../json-editor.ts';
import { type Html, html } from '../markup.ts';
import { type ProblemSummary, problemNotice } from '../notice.ts';
import { page } from '../page.ts';
import { PATHS, queryString } from '../paths.ts';
import { userText } from '../text.ts';

/** The fields of the form as they were sent. */
type StartForm = Readonly<Record<string, string>>;

export interface StartView {
  readonly caller: Caller;
  readonly agents: readonly KnownAgent[];
  readonly agent?: string | undefined;
  readonly formValues?: StartForm | undefined;
  readonly problem?: ProblemSummary | undefined;
  /** Makes a form that is sent twice start one run. */
  readonly key: string;
}

/** The form that starts a run, with the example of the agent filled in. */
export function startPage({ caller, agents, agent, formValues: given = {}, problem, key }: StartView): Html {
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
${agents.length > 1 && choices(agents, chosen)}
<section class="card" aria-labelledby="new"><h2 id="new">${chosen ? html`A run of ${userText(chosen.name)}` : 'A new run'}</h2>
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
  label: 'Input, as JSON',
  hint:
    chosen?.example === undefined
      ? 'What the agent is given to begin with.'
      : 'An example is filled in: change it as you like.',
  value: given.input ?? toEditableJson(chosen?.example ?? {}),
  isRequired: true,
})}
${field('id', 'Id', 'The same id twice starts one run. Left empty, it gets one.')}
<div class="two">${field('owner', 'Owner', 'Whose run it is; runs can be found by it.')}${field('tags', 'Tags', 'Separated by commas.')}</div>
<button class="primary">Start</button>
</form></section>`,
  });
}

const choices = (agents: readonly KnownAgent[], chosen: KnownAgent | undefined): Html =>
  html`<ul class="tabs" aria-label="Agents">${agents.map(
    ({ name }) =>
      html`<li><a href="${PATHS.start}${queryString({ agent: name })}"${name === chosen?.name && html` aria-current="true"`}>${userText(name)}</a></li>`,
  )}</ul>`;
