import { type Doc, equal, type Fields, isFields, specialOf } from '../../checkpoints/engine.ts';
import { voterName } from '../../core/delegation.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { showDocument } from '../document/show-document.ts';
import { type Html, html } from '../markup.ts';
import { plainText, revealHidden, userText } from '../text.ts';
import { remainingApprovals } from './people.ts';
import { type RequestPlace, section } from './section.ts';
import { fullAnswer, isQuestion } from './words.ts';

type Changed = NonNullable<ApprovalDocument['changed']>;

/** Explains why people are asked again. */
export const followUpReason = (approval: ApprovalDocument, changed: Changed, place: RequestPlace): Html => {
  const refused = rejectedEdits(changed);
  if (refused === undefined) return changedFacts(changed, place);
  return isQuestion(approval)
    ? section(
        place,
        { id: 'refused', className: 'notice wait' },
        'The answer was not accepted',
        refusal(refused),
        fullAnswer(approval, changed.before),
      )
    : notAccepted(changed.before, refused, place);
};

/** Why the agent rejected the edits of the previous approval; undefined if facts changed instead. */
export const rejectedEdits = ({ after }: Changed): string | undefined =>
  typeof after === 'string' ? after : undefined;

const refusal = (why: string): Html => html`<div class="text" dir="auto">${revealHidden(why)}</div>`;

const notAccepted = (edits: Doc, why: string, place: RequestPlace): Html =>
  section(
    place,
    { id: 'refused', className: 'notice wait' },
    'The approved changes were not accepted',
    html`${refusal(why)}
<details><summary>Changes</summary><div class="doc">${showDocument(edits)}</div></details>`,
  );

/** The changes that an approver proposed, beside the values of the request; empty if there are none. */
export function proposedChanges({ proposal, facts, show, status }: ApprovalDocument, place: RequestPlace): Html {
  const isPending = status === 'PENDING';
  const shown =
    proposal &&
    section(
      place,
      { id: 'proposal', className: 'notice wait changed-values' },
      html`${userText(voterName(proposal))} ${isPending ? 'proposes' : 'proposed'} these changes`,
      isPending &&
        html`<p>A decision is about the request with these changes. Earlier approvals do not cover them.</p>`,
      compareEdits(proposal.edits as Doc, facts, show),
    );
  return html`<div data-key="proposal${place.suffix}" data-rev="${proposal?.at.getTime()}">${shown}</div>`;
}

/** The newest answer to a question that still needs an equal one; empty if there is none. */
export function givenAnswer(approval: ApprovalDocument, place: RequestPlace): Html {
  const { answer, status, votes } = approval;
  const shown =
    answer &&
    status === 'PENDING' &&
    section(
      place,
      { id: 'proposal', className: 'notice wait' },
      html`${userText(voterName(answer))} answered`,
      fullAnswer(approval, answer.value),
      html`<p>${remainingApprovals(approval)} needed. If you give a different answer, only equal answers to yours count.</p>`,
    );
  return html`<div data-key="proposal${place.suffix}" data-rev="${status} ${answer?.at.getTime()} ${votes.length}">${shown}</div>`;
}

/** Compares the fields of edits with the fields of the same names that the request shows. */
function compareEdits(edits: Doc, facts: Doc | undefined, show: Doc | undefined): Html {
  const requested = requestedValues(edits, facts, show);
  if (!requested) return html`<div class="doc">${showDocument(edits)}</div>`;
  return changesTable('Field', 'Requested', 'Proposed', requested, edits);
}

/** The fields of the request that edits change; undefined if the request shows none of them. */
function requestedValues(edits: Doc | undefined, facts: Doc | undefined, show: Doc | undefined): Fields | undefined {
  if (!isPlainFields(edits)) return undefined;
  const names = Object.keys(edits);
  const shown = [facts, show].filter(isPlainFields).find((doc) => names.some((name) => Object.hasOwn(doc, name)));
  return shown && Object.fromEntries(Object.entries(shown).filter(([name]) => names.includes(name)));
}

const isPlainFields = (doc: Doc | undefined): doc is Fields =>
  doc !== undefined && isFields(doc) && specialOf(doc) === undefined;

/** The facts that changed, before and after. */
const changedFacts = ({ before, after }: Changed, place: RequestPlace): Html =>
  section(
    place,
    { id: 'changed', className: 'notice wait changed-values' },
    'Facts that changed since the last request',
    changesTable('Fact', 'Before', 'Now', before, after),
  );

/** A table of the values that differ. */
function changesTable(what: string, beforeLabel: string, afterLabel: string, before: Doc, after: Doc): Html {
  const rows = differences(before, after).map(
    ([name, old, now]) => html`<tr role="row">
<th role="rowheader" scope="row">${name === '' ? 'All facts' : userText(name)}</th>
<td role="cell" class="before" data-label="${beforeLabel}">${old === undefined ? ABSENT : html`<del>${showDocument(old)}</del>`}</td>
<td role="cell" class="after" data-label="${afterLabel}">${now === undefined ? ABSENT : html`<ins>${showDocument(now)}</ins>`}</td>
</tr>`,
  );
  return html`<div class="doc"><table class="records" role="table">
<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">${what}</th><th role="columnheader" scope="col">${beforeLabel}</th><th role="columnheader" scope="col">${afterLabel}</th></tr></thead>
<tbody role="rowgroup">${rows}</tbody></table></div>`;
}

const ABSENT = html`<span class="quiet">(none)</span>`;

type Row = readonly [name: string, before: Doc | undefined, after: Doc | undefined];

function differences(before: Doc, after: Doc): readonly Row[] {
  if (!isFields(before) || !isFields(after) || specialOf(before) !== undefined || specialOf(after) !== undefined)
    return [['', before, after]];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const rows = names.map((name): Row => [name, before[name], after[name]]);
  return rows.filter(([, old, now]) => !equal(old, now));
}

/** One line on why people are asked again. */
export function followUpSummary(approval: ApprovalDocument, changed: Changed): string {
  if (rejectedEdits(changed) !== undefined)
    return isQuestion(approval) ? 'the answer was not accepted' : 'the approved changes were not accepted';
  const names = differences(changed.before, changed.after).map(([name]) => plainText(name === '' ? 'all' : name));
  return `these facts changed: ${names.join(', ')}`;
}

const MAX_VALUE_CHARACTERS = 40;

/** One line on proposed changes: each plain value, with the one that was requested. */
export function proposalSummary({ proposal, facts, show }: ApprovalDocument): string {
  const edits = proposal?.edits as Doc | undefined;
  const before = requestedValues(edits, facts, show);
  if (before === undefined || !isPlainFields(edits)) return 'changes';
  const rows = differences(before, edits).flatMap(([name, old, now]) =>
    [old, now].every((value) => value === undefined || typeof value !== 'object')
      ? `${plainText(name)} ${shortValue(now)}${old === undefined ? '' : ` instead of ${shortValue(old)}`}`
      : [],
  );
  return rows.length > 0 ? rows.slice(0, MAX_PROPOSED_VALUES).join(', ') : 'changes';
}

const MAX_PROPOSED_VALUES = 3;

function shortValue(value: Doc | undefined): string {
  const text = plainText(String(value));
  return text.length > MAX_VALUE_CHARACTERS ? `${text.slice(0, MAX_VALUE_CHARACTERS)}…` : text;
}
