import type { Caller } from '../../http/caller.ts';
import type { RunView } from '../../operator/operator.ts';
import type { RecordedResult } from '../../operator/recorded-results.ts';
import { runBreadcrumbs } from '../crumbs.ts';
import { jsonEditor } from '../json-editor.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { type ProblemSummary, problemNotice } from '../notice.ts';
import { page } from '../page.ts';
import { PATHS, queryString } from '../paths.ts';
import { userText } from '../text.ts';
import { resultEditors } from './result-editors.ts';

/** What was just done, for the page of the run. */
export const DONE_MESSAGES = {
  start: 'It was started.',
  again: 'There was such a run already: here it is.',
  cancel: 'It is being cancelled.',
  retry: 'It goes on from where it was.',
  signal: 'The signal was sent.',
  rewind: 'It goes on from the checkpoint.',
  fork: 'This is the fork. It goes on by itself.',
} as const;

export type RunAction = 'cancel' | 'retry' | 'signal' | 'rewind' | 'fork';

/** The fields of a form as they were sent, or as they are to begin with. */
export type ActionForm = Readonly<Record<string, string | undefined>>;

export interface ActionView {
  readonly caller: Caller;
  readonly run: RunView;
  readonly form: ActionForm;
  readonly problem?: ProblemSummary | undefined;
  /** Makes a form that is sent twice do it once. */
  readonly key: string;
  /** The state to be edited as JSON; absent where it is too large for a form. */
  readonly state?: string | undefined;
  /** What is recorded at the checkpoint. */
  readonly recorded?: readonly RecordedResult[] | undefined;
}

interface Spec {
  readonly title: string;
  /** What goes back ends in the checkpoint: the field above may hold another one that was not opened. */
  readonly button: string;
  readonly isSevere?: boolean;
  /** Whether it begins with a checkpoint. */
  readonly goesBack?: boolean;
  readonly says: HtmlValue;
  readonly fields: (view: ActionView) => HtmlValue;
}

/** A page that says what will happen to a run, and does it when its form is sent. */
export function actionPage(action: RunAction, view: ActionView): Html {
  const { caller, run, problem } = view;
  const { title, button, says, fields, isSevere = false, goesBack = false } = ACTIONS[action];
  // Nobody wants to go back to where it is: which checkpoint is meant is said first.
  const isChosen = action !== 'rewind' || view.form.version !== undefined;
  return page({
    title: `${title} ${run.run}`,
    caller,
    current: 'runs',
    isNarrow: !goesBack,
    body: html`${runBreadcrumbs(run.run)}
<h1>${title} <span class="id">${userText(run.run)}</span></h1>
${problem && problemNotice(problem)}
<section class="card" aria-label="${title}">
<div class="says">${says}</div>
${goesBack && otherVersion(view, isChosen)}
${
  isChosen &&
  html`<form method="post" action="${PATHS.ofRun(run.run, action)}" class="stack">
${goesBack && html`<input type="hidden" name="version" value="${versionOf(view)}">`}
${fields(view)}
<p class="actions"><button class="${isSevere ? 'reject' : 'primary'}">${button}${goesBack && ` ${versionOf(view)}`}</button><a class="button" href="${PATHS.run(run.run)}">Leave it as it is</a></p>
</form>`
}</section>`,
  });
}

const input = (
  name: string,
  label: HtmlValue,
  value: string | undefined,
  hint: HtmlValue,
  kind = html`maxlength="2000"`,
): Html =>
  html`<div><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${value ?? ''}" ${kind} autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="${name}-hint"><p class="hint" id="${name}-hint">${hint}</p></div>`;

const OPTIONAL = html`<span class="quiet">(optional)</span>`;

const versionOf = ({ form, run }: ActionView): string => form.version ?? String(run.version);

const versionRange = ({ run }: ActionView): Html => html`type="number" required min="1" max="${run.version}"`;

/** Another checkpoint has another state to be edited, so it is chosen first. */
const otherVersion = (view: ActionView, isChosen: boolean): Html =>
  html`<form method="get" class="line compare"><label for="from">From checkpoint</label><input id="from" name="version" value="${isChosen && versionOf(view)}" ${versionRange(view)}><button>Open</button></form>`;

/** The state that it goes on with; one that is left as it is, is that of the checkpoint. */
function stateEditor(view: ActionView, about?: HtmlValue): Html {
  if (view.state === undefined)
    return html`<p class="hint">The state is too large to be edited here; the API and the command take another one.</p>`;
  return jsonEditor({
    name: 'state',
    label: 'State, as JSON',
    hint: html`Of checkpoint ${versionOf(view)}. ${about && html`${about} `}An object with a single field <code>$</code> stands for what JSON lacks, such as a date; leave those as they are.`,
    value: view.form.state ?? view.state,
    isRequired: true,
    isTall: true,
  });
}

/** What an edited state changes, where results are recorded that stay what they are. */
const notResults = ({ run, recorded = [] }: ActionView, instead: HtmlValue): HtmlValue =>
  run.isDurable &&
  recorded.some(({ id, isCompleted: isOver }) => isOver && !id.startsWith('@')) &&
  html`It is what the agent finds as its state from here on; what its steps gave before stays as it is recorded: ${instead}.`;

const ACTIONS: Readonly<Record<RunAction, Spec>> = {
  cancel: {
    title: 'Cancel',
    button: 'Cancel the run',
    isSevere: true,
    says: html`<p>The run stops at its next write. What its steps did is undone, the last one first; open questions are withdrawn, and runs that it called are cancelled too. A step that is under way is finished and recorded first.</p>`,
    fields: ({ form }) => input('reason', html`Why ${OPTIONAL}`, form.reason, 'It is kept with the run.'),
  },
  retry: {
    title: 'Retry',
    button: 'Retry the run',
    says: html`<p>The run goes on from where it failed. Steps that are recorded are not run again; what was undone is done again.</p>`,
    fields: () => html``,
  },
  signal: {
    title: 'Signal',
    button: 'Send the signal',
    says: html`<p>A run that waits for a signal of this name goes on with its value. One that does not wait for it yet finds it when it does.</p>`,
    fields: ({ form, run, key }) => html`<input type="hidden" name="id" value="${form.id ?? key}">
${input('name', 'Name', form.name ?? run.waits.find(({ kind }) => kind === 'signal')?.name, 'The name that the agent waits for.', html`required maxlength="200"`)}
${jsonEditor({ name: 'value', label: 'Value, as JSON', hint: 'What the agent is given.', value: form.value ?? 'null', isRequired: true })}`,
  },
  rewind: {
    title: 'Rewind',
    button: 'Rewind to checkpoint',
    isSevere: true,
    goesBack: true,
    says: html`<p>The run goes on from an earlier checkpoint. Whoever runs it now loses it, open questions are withdrawn, and steps after the checkpoint are run again. Nothing is removed from history.</p>`,
    fields: (
      view,
    ) => html`${view.run.isDurable && stateEditor(view, notResults(view, html`to change that, <a href="${PATHS.ofRun(view.run.run, 'fork')}${queryString({ version: versionOf(view) })}">fork it</a>`))}
<div><label><input type="checkbox" name="newKeys" value="true"${view.form.newKeys === 'true' && html` checked`}>New idempotency keys</label><p class="hint">Services then take steps that run again for new work. Without, they recognise what they did before.</p></div>`,
  },
  fork: {
    title: 'Fork',
    button: 'Fork from checkpoint',
    goesBack: true,
    says: html`<p>A new run begins with this checkpoint and goes on by itself. This one stays as it is.</p>`,
    fields: (view) => html`${resultEditors(view.recorded ?? [], view.form)}
${stateEditor(view, notResults(view, 'change that above'))}
${input('id', html`Id ${OPTIONAL}`, view.form.id, 'Left empty, it gets one.')}
${input('tags', html`Tags ${OPTIONAL}`, view.form.tags, 'Separated by commas.')}`,
  },
};
