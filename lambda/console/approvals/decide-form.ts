import type { FieldProblem } from '../../core/forms/find-problems.ts';
import { toForm } from '../../core/forms/form-field.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { jsonEditor, toEditableJson } from '../json-editor.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import type { ProblemSummary } from '../notice.ts';
import { plainText, userText } from '../text.ts';
import { currentAnswer, currentEdits, isPlain, refusedValue } from './current-value.ts';
import { nameList } from './people.ts';
import { FORM_FIELD, type SubmittedFields } from './submitted-decision.ts';
import { type ValueForm, valueForm } from './value-form.ts';

/** Who decides with the form: one person, for themself or for others (`for`), or one that the caller chooses or names. */
export type Deciders = One | Choice;

interface One {
  readonly as: string;
  readonly for?: readonly string[] | undefined;
}

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

interface DecideFormOptions {
  /** The submitted fields, to fill in the form again after an error. */
  readonly given?: SubmittedFields | undefined;
  /** What is wrong with them. */
  readonly problem?: ProblemSummary | undefined;
  /** The path that the form posts to. @default that of the page */
  readonly action?: string | undefined;
}

/** The form that submits a decision. It carries the hash of what is shown, and works without JavaScript. */
export function decideForm(
  approval: ApprovalDocument,
  answering: Deciders,
  { given = {}, problem, action }: DecideFormOptions = {},
): Html {
  const isQuestion = approval.answerSchema !== undefined;
  const carried = valueFormOf(approval, given, problem);
  // The form of a question stays while others answer it: an answer does not depend on theirs.
  const rev = isQuestion ? 'question' : approval.contentHash;
  return html`<section class="card" aria-labelledby="answer" data-key="form" data-quiet data-rev="form ${rev}">
<h2 id="answer">Your ${isQuestion ? 'answer' : 'decision'}</h2>
<form method="post"${action !== undefined && html` action="${action}"`} class="stack">
<input type="hidden" name="contentHash" value="${approval.contentHash}">
${deciderFields(answering, given, { isQuestion, isSent: action === undefined })}
${isQuestion && carried && valueForm(carried)}
${commentField(given.comment)}
${approval.editable && (carried ? editsForm(carried, approval) : jsonEdits(approval, given))}
${isQuestion ? ANSWER_BUTTONS : decideButtons(approval)}
</form>
</section>`;
}

// Fields for changes can be folded, where the browser cannot show what is wrong with them; the server does.
const decideButtons = ({ proposal }: ApprovalDocument): Html =>
  html`<div class="decide"><button class="approve" name="answer" value="approve" formnovalidate>${proposal ? 'Approve changes' : 'Approve'}</button><button class="reject" name="answer" value="reject" formnovalidate>Reject</button></div>`;
const ANSWER_BUTTONS = html`<div class="decide"><button class="approve" name="answer" value="approve">Answer</button><button class="reject" name="answer" value="reject" formnovalidate>Decline</button></div>`;

interface DeciderFieldsOptions {
  /** @default false */
  readonly isQuestion?: boolean;
  /** Whether the form says for whom a delegate decides; a link says it itself. @default true */
  readonly isSent?: boolean;
}

type Verb = 'answer' | 'decide';

/** Says who decides, or lets the caller choose. */
export const deciderFields = (
  answering: Deciders,
  given: SubmittedFields,
  { isQuestion = false, isSent = true }: DeciderFieldsOptions = {},
): Html => {
  const verb = isQuestion ? 'answer' : 'decide';
  return 'as' in answering ? decidingAs(answering, given, verb, isSent) : choice(answering, given, verb);
};

/** The field for a comment. */
export const commentField = (
  comment = '',
): Html => html`<div><label for="comment">Comment <span class="quiet">(optional)</span></label>
<textarea id="comment" name="comment" maxlength="10000" dir="auto">
${comment}</textarea></div>`;

/** Says as whom and for whom the reader decides. Someone who answers for several people chooses one. */
function decidingAs({ as, for: people = [] }: One, given: SubmittedFields, verb: Verb, isSent: boolean): Html {
  const [first, ...others] = people;
  if (first === undefined) return html`<p class="hint">You ${verb} as ${userText(as)}.</p>`;
  if (others.length === 0)
    return html`<p class="hint">You ${verb} as ${userText(as)} for ${userText(first)}, who is away.</p>${isSent && html`<input type="hidden" name="for" value="${first}">`}`;
  return html`<div><label for="for">You ${verb} as ${userText(as)} for</label><p class="hint" id="for-hint">You have one vote.</p>
<select id="for" name="for" aria-describedby="for-hint">${people.map((person) => html`<option value="${person}"${person === given.for && html` selected`}>${plainText(person)}</option>`)}</select></div>`;
}

/** The form for the answer to a question, or for changes to a request; undefined if there is none. */
export function valueFormOf(
  approval: ApprovalDocument,
  given: SubmittedFields = {},
  problem?: ProblemSummary,
): ValueForm | undefined {
  const { answerSchema, editsSchema, title } = approval;
  const schema = answerSchema ?? editsSchema;
  const form = schema && toForm(schema);
  if (!form || (!answerSchema && form.kind === 'json')) return undefined;
  const name = answerSchema ? 'value' : 'edits';
  return {
    name,
    form,
    given,
    title: answerSchema ? title : 'Your changes',
    current: answerSchema ? currentAnswer(approval) : currentEdits(approval, form),
    problems: fieldProblems(name, problem),
  };
}

/** What is wrong with each field of a value. */
const fieldProblems = (name: string, problem: ProblemSummary | undefined): readonly FieldProblem[] =>
  (problem?.errors ?? []).flatMap(({ path, detail }) =>
    path.startsWith(`/${name}`) ? [{ path: path.slice(name.length + 1), message: detail }] : [],
  );

/** A selection of the people who can vote, and a field for others if a group is open. */
function choice({ people, groups, delegates = [], chosen, notes }: Choice, given: SubmittedFields, verb: Verb): Html {
  const as = verb === 'answer' ? 'Answer as' : 'Decide as';
  const hint = `You can ${verb} for others here.`;
  const by = given.by ?? chosen;
  const offered = [...people, ...delegates.map(({ delegate }) => delegate)];
  const named = given.member ?? (chosen !== undefined && !offered.includes(chosen) ? chosen : undefined);
  const option = (value: string, label: HtmlValue) =>
    html`<option value="${value}"${value === (named === undefined ? by : '') && html` selected`}>${label}</option>`;
  const select = html`<div><label for="by">${as}</label><p class="hint" id="by-hint">${hint}</p>
<select id="by" name="by" aria-describedby="by-hint">${people.map((person) => option(person, html`${plainText(person)}${notes?.has(person) && ` (${notes.get(person)})`}`))}${delegateOptions(delegates, option)}${groups.length > 0 && option('', 'Another person, entered below')}</select></div>`;
  const isAlone = offered.length === 0;
  const member = html`<div><label for="member">${isAlone ? as : 'Another person'}</label><p class="hint" id="member-hint">A member of ${nameList(groups)}, written as <code>user:</code> and a name. ${isAlone ? hint : 'Overrides the selection above.'}</p>
<input id="member" name="member" value="${named ?? ''}"${isAlone && html` required`} placeholder="user:…" pattern="user:.+" title="user: followed by a name" maxlength="256" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="member-hint"></div>`;
  return html`${!isAlone && select}${groups.length > 0 && member}`;
}

/** Each delegate once: someone who answers for several people has one vote. */
const delegateOptions = (
  delegates: NonNullable<Choice['delegates']>,
  option: (value: string, label: string) => Html,
): readonly Html[] =>
  [...Map.groupBy(delegates, ({ delegate }) => delegate)].map(([delegate, all]) => {
    const people = new Set(all.map(({ person }) => plainText(person)));
    return option(delegate, `${plainText(delegate)} for ${[...people].join(' or ')}`);
  });

const editsForm = (of: ValueForm, { proposal }: ApprovalDocument): Html =>
  html`<details${(of.given?.[FORM_FIELD] !== undefined || of.problems.length > 0) && html` open`}><summary>${editsTitle(proposal)}</summary><div class="stack">
<p class="hint">Change what should be different, then approve. Without changes, you approve ${proposal ? 'the proposed changes' : 'what is shown'}.</p>
${valueForm(of)}</div></details>`;

const editsTitle = (proposal: ApprovalDocument['proposal']): string =>
  proposal ? 'Propose other changes' : 'Approve with changes';

const MOST_SOURCE = 64 * 1024;

/** A field for changes of any kind. */
function jsonEdits(approval: ApprovalDocument, given: SubmittedFields): Html {
  const { facts, show, proposal } = approval;
  const source = [refusedValue(approval), facts, show].find((doc) => doc !== undefined && isPlain(doc));
  const json = source === undefined ? undefined : toEditableJson(source);
  return html`<details${given.edits !== undefined && html` open`}><summary>${editsTitle(proposal)}</summary>
${jsonEditor({
  name: 'edits',
  label: 'Your changes (JSON)',
  hint: proposal ? 'Leave empty to approve the proposed changes.' : 'Leave empty to approve as shown.',
  value: given.edits ?? '',
  source: json !== undefined && json.length <= MOST_SOURCE ? json : undefined,
})}</details>`;
}
