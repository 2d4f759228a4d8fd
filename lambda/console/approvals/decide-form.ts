import { type Doc, isContainer, plainHeight } from '../../checkpoints/engine.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { jsonEditor, toEditableJson } from '../json-editor.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { plainText, userText } from '../text.ts';
import { rejectedEdits } from './changed-facts.ts';
import { nameList } from './people.ts';

/** The values of a submitted form, to fill it in again after an error. */
export interface DecideFormValues {
  readonly answer?: string | undefined;
  readonly comment?: string | undefined;
  /** As text, since it may be invalid JSON. */
  readonly edits?: string | undefined;
  readonly by?: string | undefined;
  readonly member?: string | undefined;
  readonly for?: string | undefined;
}

/** Who decides with the form: one person, for themself or for others (`for`), or one that the caller chooses or names. */
export type Deciders = { readonly as: string; readonly for?: readonly string[] } | Choice;

interface Choice {
  /** Approvers by name, and known members of groups, who have not voted. */
  readonly people: readonly string[];
  /** Groups for which anyone can vote. */
  readonly groups: readonly string[];
  /** The delegates of approvers who are away. */
  readonly delegates?: readonly { readonly person: string; readonly delegate: string }[];
  /** The preselected person. */
  readonly chosen?: string | undefined;
  /** What to add to the names of people. */
  readonly notes?: ReadonlyMap<string, string>;
}

/** The form that submits a decision. It carries the hash of what is shown, and works without JavaScript. */
export function decideForm(
  approval: ApprovalDocument,
  answering: Deciders,
  given: DecideFormValues = {},
  action?: string,
): Html {
  return html`<section class="card" aria-labelledby="answer" data-key="form" data-quiet data-rev="form ${approval.contentHash}">
<h2 id="answer">Your decision</h2>
<form method="post"${action !== undefined && html` action="${action}"`} class="stack">
<input type="hidden" name="contentHash" value="${approval.contentHash}">
${deciderFields(answering, given, action === undefined)}
${commentField(given.comment)}
${approval.editable && edits(approval, given)}
<div class="decide"><button class="approve" name="answer" value="approve">${approval.proposal ? 'Approve changes' : 'Approve'}</button><button class="reject" name="answer" value="reject">Reject</button></div>
</form>
</section>`;
}

/** Says who decides, or lets the caller choose. */
export const deciderFields = (answering: Deciders, given: DecideFormValues, isSent = true): Html =>
  'as' in answering ? decidingAs(answering.as, answering.for, given, isSent) : choice(answering, given);

/** The field for a comment. */
export const commentField = (
  comment = '',
): Html => html`<div><label for="comment">Comment <span class="quiet">(optional)</span></label>
<textarea id="comment" name="comment" maxlength="10000" dir="auto">
${comment}</textarea></div>`;

/** Says as whom and for whom the reader decides, which a link says itself. Someone who answers for several people chooses one. */
function decidingAs(
  as: string,
  [first, ...others]: readonly string[] = [],
  given: DecideFormValues,
  isSent: boolean,
): Html {
  if (first === undefined) return html`<p class="hint">You decide as ${userText(as)}.</p>`;
  if (others.length === 0)
    return html`<p class="hint">You decide as ${userText(as)} for ${userText(first)}, who is away.</p>${isSent && html`<input type="hidden" name="for" value="${first}">`}`;
  return html`<div><label for="for">You decide as ${userText(as)} for</label><p class="hint" id="for-hint">You have one vote.</p>
<select id="for" name="for" aria-describedby="for-hint">${[first, ...others].map((person) => html`<option value="${person}"${person === given.for && html` selected`}>${plainText(person)}</option>`)}</select></div>`;
}

/** A selection of the people who can vote, and a field for others if a group is open. */
function choice({ people, groups, delegates = [], chosen, notes }: Choice, given: DecideFormValues): Html {
  const by = given.by ?? chosen;
  const offered = [...people, ...delegates.map(({ delegate }) => delegate)];
  const named = given.member ?? (chosen !== undefined && !offered.includes(chosen) ? chosen : undefined);
  const option = (value: string, label: HtmlValue) =>
    html`<option value="${value}"${value === (named === undefined ? by : '') && html` selected`}>${label}</option>`;
  const select = html`<div><label for="by">Decide as</label><p class="hint" id="by-hint">You can decide for others here.</p>
<select id="by" name="by" aria-describedby="by-hint">${people.map((person) => option(person, html`${plainText(person)}${notes?.has(person) && ` (${notes.get(person)})`}`))}${delegates.map(({ delegate, person }) => option(delegate, `${plainText(delegate)} for ${plainText(person)}`))}${groups.length > 0 && option('', 'Another person, entered below')}</select></div>`;
  const isAlone = offered.length === 0;
  const member = html`<div><label for="member">${isAlone ? 'Decide as' : 'Another person'}</label><p class="hint" id="member-hint">A member of ${nameList(groups)}, written as <code>user:</code> and a name. ${isAlone ? 'You can decide for others here.' : 'Overrides the selection above.'}</p>
<input id="member" name="member" value="${named ?? ''}"${isAlone && html` required`} placeholder="user:…" pattern="user:.+" title="user: followed by a name" maxlength="256" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="member-hint"></div>`;
  return html`${!isAlone && select}${groups.length > 0 && member}`;
}

const MOST_SOURCE = 64 * 1024;

function edits({ facts, show, changed, proposal }: ApprovalDocument, given: DecideFormValues): Html {
  const refused = changed && rejectedEdits(changed) !== undefined ? changed.before : undefined;
  const source = [refused, facts, show].find((doc) => doc !== undefined && isPlain(doc));
  const json = source === undefined ? undefined : toEditableJson(source);
  return html`<details${given.edits !== undefined && html` open`}><summary>${proposal ? 'Propose other changes' : 'Approve with changes'}</summary>
${jsonEditor({
  name: 'edits',
  label: 'Your changes (JSON)',
  hint: proposal ? 'Leave empty to approve the proposed changes.' : 'Leave empty to approve as shown.',
  value: given.edits ?? '',
  source: json !== undefined && json.length <= MOST_SOURCE ? json : undefined,
})}</details>`;
}

/** Whether a document is plain JSON, as edits must be. */
const isPlain = (doc: Doc): boolean => !isContainer(doc) || plainHeight(doc) > 0;
