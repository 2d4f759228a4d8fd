import type { Caller } from '../../http/caller.ts';
import { explainRetry } from '../../operator/explain-retry.ts';
import type { RestartPreview, RunView } from '../../operator/operator.ts';
import type { RecordedResult } from '../../operator/recorded-results.ts';
import { runBreadcrumbs } from '../crumbs.ts';
import { jsonEditor } from '../json-editor.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { notice, type ProblemSummary, problemNotice } from '../notice.ts';
import { page } from '../page.ts';
import { PATHS, queryString } from '../paths.ts';
import { userText } from '../text.ts';
import { type CheckpointChoice, checkpointPicker } from './checkpoint-picker.ts';
import { repeatedSteps } from './repeated-steps.ts';
import { resultEditors } from './result-editors.ts';

/** Confirmations that the page of a run shows after an action. */
export const DONE_MESSAGES = {
  start: 'Run started.',
  existing: 'A run with this id already exists. This is that run.',
  cancel: 'The run is being cancelled.',
  retry: 'The run resumes where it failed.',
  signal: 'Signal sent.',
  rewind: 'The run resumes from the checkpoint.',
  fork: 'Fork created. This is the new run.',
} as const;

/** An action on a run that has a page. */
export type RunAction = 'cancel' | 'retry' | 'signal' | 'rewind' | 'fork';

/** The submitted fields of a form, or the initial ones from the query. */
export type ActionForm = Readonly<Record<string, string | undefined>>;

/** What {@link actionPage} shows. */
export interface ActionView {
  readonly caller: Caller;
  readonly run: RunView;
  readonly form: ActionForm;
  /** The checkpoints to choose from. */
  readonly choices: readonly CheckpointChoice[];
  readonly now: Date;
  readonly problem?: ProblemSummary | undefined;
  /** An idempotency key, so that submitting the form twice acts once. */
  readonly key: string;
  /** The state as editable JSON; absent if it is too large for a form. */
  readonly state?: string | undefined;
  /** The recorded results at the checkpoint. */
  readonly recorded?: readonly RecordedResult[] | undefined;
  /** What a rewind or fork does again. */
  readonly preview?: RestartPreview | undefined;
}

interface ActionSpec {
  readonly title: string;
  /** For rewind and fork, the version follows: the version field may hold another one that is not loaded yet. */
  readonly button: string;
  readonly isDestructive?: boolean;
  /** Whether the action starts from a checkpoint. */
  readonly needsCheckpoint?: boolean;
  readonly description: HtmlValue;
  readonly fields: (view: ActionView) => HtmlValue;
}

/** A page that explains an action on a run, with the form that performs it. */
export function actionPage(action: RunAction, view: ActionView): Html {
  const { caller, run, problem } = view;
  const { title, button, description, fields, isDestructive = false, needsCheckpoint = false } = ACTIONS[action];
  // Rewinding to the newest checkpoint makes no sense, so the user chooses one first.
  const isChosen = action !== 'rewind' || view.form.version !== undefined;
  return page({
    title: `${title} ${run.run}`,
    caller,
    current: 'runs',
    isNarrow: !needsCheckpoint,
    body: html`${runBreadcrumbs(run.run)}
<h1>${title} <span class="id">${userText(run.run)}</span></h1>
${problem && problemNotice(problem)}
<section class="card" aria-label="${title}">
<div class="says">${description}</div>
${needsCheckpoint && checkpointChooser(view, isChosen)}
${
  isChosen &&
  html`<form method="post" action="${PATHS.ofRun(run.run, action)}" class="stack">
${needsCheckpoint && html`<input type="hidden" name="version" value="${selectedVersion(view)}">`}
${view.preview && repeatedSteps(view.preview)}
${fields(view)}
<p class="actions"><button class="${isDestructive ? 'reject' : 'primary'}">${button}${needsCheckpoint && ` ${selectedVersion(view)}`}</button><a class="button" href="${PATHS.run(run.run)}">${action === 'cancel' ? 'Go back' : 'Cancel'}</a></p>
</form>`
}</section>`,
  });
}

const textInput = (
  name: string,
  label: HtmlValue,
  value: string | undefined,
  hint: HtmlValue,
  kind = html`maxlength="2000"`,
): Html =>
  html`<div><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${value ?? ''}" ${kind} autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="${name}-hint"><p class="hint" id="${name}-hint">${hint}</p></div>`;

const OPTIONAL = html`<span class="quiet">(optional)</span>`;

const selectedVersion = ({ form, run }: ActionView): string => form.version ?? String(run.version);

/** Each checkpoint has its own state to edit, so choosing one reloads the page. */
function checkpointChooser(view: ActionView, isChosen: boolean): Html {
  const { choices, now, run } = view;
  const chosen = isChosen ? Number(selectedVersion(view)) : undefined;
  const oldest = choices.at(-1)?.version ?? 1;
  return html`<form method="get" class="line compare">${checkpointPicker({ name: 'version', label: 'From checkpoint', choices, chosen, now })}<button>Load</button></form>
${oldest > 1 && html`<p class="hint">For a checkpoint before ${oldest}, open it in the <a href="${PATHS.run(run.run)}${queryString({ to: oldest })}">timeline</a>.</p>`}`;
}

/** The editor of the state that the run resumes with; initially the state of the checkpoint. */
function stateEditor(view: ActionView, about?: HtmlValue): Html {
  if (view.state === undefined)
    return html`<p class="hint">The state is too large to edit here. Use the API or the command line to change it.</p>`;
  return jsonEditor({
    name: 'state',
    label: 'State (JSON)',
    hint: html`The state of checkpoint ${selectedVersion(view)}. ${about && html`${about} `}An object with a single field <code>$</code> stands for a type that JSON lacks, such as a date; keep those unchanged.`,
    value: view.form.state ?? view.state,
    isRequired: true,
    isTall: true,
  });
}

/** A hint that editing the state does not change recorded results. */
const resultsStayHint = ({ preview }: ActionView, instead: HtmlValue): HtmlValue => {
  const { stateChanges = 'everything', replaceableResults = [] } = preview ?? {};
  if (replaceableResults.length === 0 && stateChanges !== 'nothing') return false;
  const change = replaceableResults.length > 0 && html` To change what the agent did before, ${instead}.`;
  if (stateChanges === 'nothing') return html`This agent has no state, so another state changes nothing.${change}`;
  return html`${stateChanges === 'later code' ? 'The agent replays its recorded results, so another state affects only code after this checkpoint.' : 'The agent continues with this state. Results of completed steps stay as recorded.'}${change}`;
};

const ACTIONS: Readonly<Record<RunAction, ActionSpec>> = {
  cancel: {
    title: 'Cancel',
    button: 'Cancel the run',
    isDestructive: true,
    description: html`<p>The run stops at its next write. Completed steps are undone in reverse order, pending approvals are withdrawn, and runs that it called are cancelled too. A step that is running finishes first and is recorded.</p>`,
    fields: ({ form }) => textInput('reason', html`Reason ${OPTIONAL}`, form.reason, 'Stored with the run.'),
  },
  retry: {
    title: 'Retry',
    button: 'Retry the run',
    description: html`<p>The run resumes where it failed. Completed steps do not run again, except those that were undone.</p>`,
    fields: ({ run }) => {
      const reason = explainRetry(run);
      return (
        reason !== undefined &&
        notice(
          'wait',
          'A retry fails again, unless you deployed other code since',
          html`<p>${reason} You can <a href="${PATHS.start}${queryString({ from: run.run })}">start again with another input</a>.</p>`,
        )
      );
    },
  },
  signal: {
    title: 'Signal',
    button: 'Send the signal',
    description: html`<p>If the run waits for this signal, it resumes with the value. Otherwise the signal is kept until the run waits for it.</p>`,
    fields: ({ form, run, key }) => html`<input type="hidden" name="id" value="${form.id ?? key}">
${textInput('name', 'Name', form.name ?? run.waits.find(({ kind }) => kind === 'signal')?.name, 'The signal that the agent waits for.', html`required maxlength="200"`)}
${jsonEditor({ name: 'value', label: 'Value (JSON)', hint: 'The agent receives this value.', value: form.value ?? 'null', isRequired: true })}`,
  },
  rewind: {
    title: 'Rewind',
    button: 'Rewind to checkpoint',
    isDestructive: true,
    needsCheckpoint: true,
    description: html`<p>The run resumes from an earlier checkpoint. A process that is running it now is fenced, pending approvals are withdrawn, and steps after the checkpoint run again. The history is kept.</p>`,
    fields: (
      view,
    ) => html`${view.run.isDurable && stateEditor(view, resultsStayHint(view, html`<a href="${PATHS.ofRun(view.run.run, 'fork')}${queryString({ version: selectedVersion(view) })}">fork the run</a>`))}
<div><label><input type="checkbox" name="newKeys" value="true"${view.form.newKeys === 'true' && html` checked`}>New idempotency keys</label><p class="hint">Services treat repeated steps as new requests. Without new keys, they recognize requests that they have already handled.</p></div>`,
  },
  fork: {
    title: 'Fork',
    button: 'Fork from checkpoint',
    needsCheckpoint: true,
    description: html`<p>A new run starts from this checkpoint. This run does not change.</p>`,
    fields: (view) => html`${resultEditors(view.recorded ?? [], view.form)}
${stateEditor(view, resultsStayHint(view, 'edit the results above'))}
${textInput('id', html`Id ${OPTIONAL}`, view.form.id, 'Generated if empty.')}
${textInput('tags', html`Tags ${OPTIONAL}`, view.form.tags, 'Separate tags with commas.')}`,
  },
};
