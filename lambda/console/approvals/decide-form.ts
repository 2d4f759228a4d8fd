import { type Doc, isContainer, plainHeight } from '../../checkpoints/document/document.ts';
import type { ApprovalDocument } from '../../desk/approval-document.ts';
import { jsonEditor, jsonText } from '../json-editor.ts';
import { type Html, html } from '../markup.ts';
import { plain, text } from '../text.ts';

/** What somebody had filled in before something was wrong with it. */
export interface Given {
  readonly answer?: string | undefined;
  readonly comment?: string | undefined;
  /** As text, since it may be no JSON. */
  readonly edits?: string | undefined;
  readonly by?: string | undefined;
}

/** As whom the form answers: one person, or whoever is named. */
export type Answering =
  | { readonly as: string }
  /** The one to begin with, and others who may be meant. */
  | { readonly choosing: string; readonly others: readonly string[] };

/** The form that decides. It carries the hash of what is shown, and works without any script. */
export function decideForm(approval: ApprovalDocument, answering: Answering, given: Given = {}): Html {
  return html`<section class="card" aria-labelledby="answer" data-key="form" data-quiet data-rev="form ${approval.shown}">
<h2 id="answer">Your answer</h2>
<form method="post" class="stack">
<input type="hidden" name="shown" value="${approval.shown}">
${'as' in answering ? html`<p class="hint">You answer as ${text(answering.as)}.</p>` : choice(answering, given)}
<div><label for="comment">Comment <span class="quiet">(optional)</span></label>
<textarea id="comment" name="comment" maxlength="10000" dir="auto">
${given.comment ?? ''}</textarea></div>
${approval.editable && edits(approval, given)}
<div class="decide"><button class="approve" name="answer" value="approve">Approve</button><button class="reject" name="answer" value="reject">Reject</button></div>
</form>
</section>`;
}

const choice = ({ choosing, others }: Extract<Answering, { choosing: string }>, given: Given): Html =>
  html`<div><label for="by">Answer as</label><p class="hint" id="by-hint">Here you may answer for others: name the person.</p>
<input id="by" name="by" value="${given.by ?? choosing}" required maxlength="256" autocomplete="off" autocapitalize="off" spellcheck="false" list="people-asked" aria-describedby="by-hint">
<datalist id="people-asked">${others.map((other) => html`<option value="${plain(other)}"></option>`)}</datalist></div>`;

const MOST_SOURCE = 64 * 1024;

function edits({ facts, show }: ApprovalDocument, given: Given): Html {
  const source = [facts, show].find((doc) => doc !== undefined && isPlain(doc));
  const json = source === undefined ? undefined : jsonText(source);
  return html`<details${given.edits !== undefined && html` open`}><summary>Approve with changes</summary>
${jsonEditor({
  name: 'edits',
  label: 'What is to be done otherwise, as JSON',
  hint: 'Leave it empty to approve what is shown.',
  value: given.edits ?? '',
  source: json !== undefined && json.length <= MOST_SOURCE ? json : undefined,
})}</details>`;
}

/** Whether a document is JSON and nothing else: edits are. */
const isPlain = (doc: Doc): boolean => !isContainer(doc) || plainHeight(doc) > 0;
