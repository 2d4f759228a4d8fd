import { type Doc, isFields, specialOf } from '../../checkpoints/engine.ts';
import { voterName } from '../../core/delegation.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { type Html, html } from '../markup.ts';
import { PATHS, queryString } from '../paths.ts';
import { plainText, userText } from '../text.ts';
import { elapsedTime, exactTime, relativeAndExactTime } from '../time.ts';
import { followUpSummary, proposalSummary } from './changed-facts.ts';
import { approvalCount, nameList } from './people.ts';
import { toFieldValue } from './together/selection.ts';
import { isQuestion, shortAnswer } from './words.ts';

/** A request in a list, among others of its kind. */
export interface InboxItem {
  readonly approval: ApprovalDocument;
  /** The requests of the same kind, with this one. */
  readonly alike: readonly ApprovalDocument[];
  /** The person for whom the caller decides, if the caller may decide for others. */
  readonly as: string | undefined;
  /** The number of its box, if it can be decided together with others. */
  readonly box?: number | undefined;
  readonly now: Date;
}

/** A request in the inbox: a link to it, the values that tell it apart, its waiting time and its deadline. */
export function inboxItem({ approval, alike, as, box, now }: InboxItem): Html {
  const { run, id, title, agent, requestedAt, deadline, quorum, approvers, for: person } = approval;
  const [decideBy, decisions] = isQuestion(approval) ? ['Answer by', 'Equal answers'] : ['Decide by', 'Approvals'];
  const link = html`<a href="${PATHS.approval(run, id)}${queryString({ as })}">${userText(title)}</a>`;
  const isInGroup = alike.length > 1;
  return html`<li${box !== undefined && html` class="selectable"`}>
${box !== undefined && html`<label class="pick"><input type="checkbox" name="pick-${box}" value="${toFieldValue({ run, approval: id })}"><span class="unseen">Select ${userText(title)} of run ${userText(run)}</span></label>`}
<div>${isInGroup ? html`<h3>${link}</h3>` : html`<h2>${link}</h2>`}
<p class="quiet">${!isInGroup && agent !== undefined && html`${userText(agent)} · `}<span class="id">${userText(run)}</span> · approvers: ${nameList(approvers)}</p>
${contentSummary(approval, alike)}
${sameContent(approval, alike)}
${whatHappened(approval)}
${person !== undefined && html`<p>You answer for ${userText(person)}</p>`}</div>
<dl><div><dt>Waiting for</dt><dd>${elapsedTime(requestedAt, now)} <span class="quiet">(${exactTime(requestedAt)})</span></dd></div>
<div><dt>${decideBy}</dt><dd>${deadline ? relativeAndExactTime(deadline, now) : 'No deadline'}</dd></div>
${quorum > 1 && html`<div><dt>${decisions}</dt><dd>${approvalCount(approval)} of ${quorum}</dd></div>`}</dl>
</li>`;
}

/** Why it is requested again, which changes were proposed, and which answer was given. */
function whatHappened(approval: ApprovalDocument): Html {
  const { changed, proposal, answer } = approval;
  const given = answer && shortAnswer(approval, answer.value);
  return html`${changed && html`<p>${isQuestion(approval) ? 'Asked' : 'Requested'} again because ${followUpSummary(approval, changed)}</p>`}
${proposal && html`<p>${userText(voterName(proposal))} proposes ${proposalSummary(approval)}</p>`}
${answer && html`<p>${userText(voterName(answer))} answered${given && html`: ${given}`}</p>`}`;
}

const MAX_SUMMARY_FIELDS = 4;
const MAX_SUMMARY_CHARACTERS = 60;

/** The first plain values that a request shows. Those that differ among requests of its kind come first. */
function contentSummary(approval: ApprovalDocument, alike: readonly ApprovalDocument[]): Html | false {
  const others = alike.filter((each) => each !== approval).map((each) => new Map(plainValues(each)));
  const values = plainValues(approval);
  const isTelling = ([name, value]: readonly [string, string]) => others.some((other) => other.get(name) !== value);
  const sorted = [...values.filter(isTelling), ...values.filter((each) => !isTelling(each))];
  const texts = sorted.slice(0, MAX_SUMMARY_FIELDS).map(([name, value]) => `${name}: ${shorten(value)}`);
  return texts.length > 0 && html`<p class="quiet">${texts.join(' · ')}</p>`;
}

function plainValues({ facts, show }: ApprovalDocument): readonly (readonly [name: string, value: string])[] {
  const fields = [facts, show].flatMap((doc): readonly (readonly [string, Doc])[] =>
    isFields(doc) && specialOf(doc) === undefined ? Object.entries(doc) : [],
  );
  return fields.flatMap(([name, value]) => {
    const text = typeof value === 'object' ? '' : plainText(String(value));
    return text === '' ? [] : [[plainText(name), text] as const];
  });
}

const shorten = (text: string): string =>
  text.length > MAX_SUMMARY_CHARACTERS ? `${text.slice(0, MAX_SUMMARY_CHARACTERS).trimEnd()}…` : text;

/** Says that an earlier request shows exactly the same, so that nobody takes one for the other. */
function sameContent(approval: ApprovalDocument, alike: readonly ApprovalDocument[]): Html | false {
  const earlier = alike
    .slice(0, alike.indexOf(approval))
    .find(({ contentHash }) => contentHash === approval.contentHash);
  return earlier !== undefined && html`<p>Same content as <span class="id">${userText(earlier.run)}</span></p>`;
}
