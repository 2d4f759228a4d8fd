import { encodePathId } from '../../../http/path-id.ts';
import type { ApprovalDocument } from '../../../operator/approval-document.ts';
import { type Html, html } from '../../markup.ts';
import { PATHS } from '../../paths.ts';
import { userText } from '../../text.ts';
import { approvalContent, approvalTerms } from '../approval-details.ts';
import { nameList, peopleSection } from '../people.ts';
import { toFieldValue } from './selection.ts';

/** One of several requests on a page, with a box that includes it. */
export interface RequestCard {
  readonly approval: ApprovalDocument;
  /** Its position on the page. */
  readonly index: number;
  readonly isChecked: boolean;
  /** The people for whom the reader can decide it, if they are not an approver themself. */
  readonly for?: readonly string[] | undefined;
  readonly now: Date;
}

/** Shows everything of a request, as its own page does. */
export function requestCard({ approval, index, isChecked, for: people = [], now }: RequestCard): Html {
  const { run, id, title, contentHash } = approval;
  const place = { suffix: `-${index}`, level: 3 } as const;
  const path = PATHS.approval(run, id);
  const payloadUrl = (payload: string) =>
    `/api/runs/${encodePathId(run)}/approvals/${encodePathId(id)}/payloads/${encodePathId(payload)}`;
  return html`<li class="card request">
<h2><input type="checkbox" id="item-${index}" name="item-${index}" value="${toFieldValue({ run, approval: id, contentHash })}"${isChecked && html` checked`}><label for="item-${index}">${userText(title)}</label></h2>
<p class="eyebrow">run <span class="id">${userText(run)}</span> · <a href="${path}">Open<span class="unseen"> the request of run ${userText(run)}</span></a></p>
${people.length > 0 && html`<p>You answer for ${nameList(people.slice(0, 1))}, who is away.</p>`}
${approvalTerms(approval, now, place)}
${approvalContent(approval, { payloadUrl }, place)}
${peopleSection(approval, now, place)}
</li>`;
}
