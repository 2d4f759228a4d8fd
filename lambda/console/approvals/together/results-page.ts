import { voterName } from '../../../core/delegation.ts';
import type { Caller } from '../../../http/caller.ts';
import { type Problem, toProblem } from '../../../http/problem.ts';
import type { ApprovalDocument } from '../../../operator/approval-document.ts';
import type { DecideAllResult } from '../../../runtime/approvals/decide-all.ts';
import { breadcrumbs } from '../../crumbs.ts';
import { pluralize } from '../../document/show-options.ts';
import { type Html, type HtmlValue, html } from '../../markup.ts';
import { notice } from '../../notice.ts';
import { page } from '../../page.ts';
import { PATHS, queryString } from '../../paths.ts';
import { badge, statusBadge } from '../../status-badge.ts';
import { userText } from '../../text.ts';
import { nameList, ownVote, remainingApprovals } from '../people.ts';
import { toListValue } from './selection.ts';

type Result = DecideAllResult<ApprovalDocument>;

export interface ResultsPageOptions {
  readonly caller: Caller;
  readonly results: readonly Result[];
  /** The titles of requests that were not decided, as far as the caller can read them. */
  readonly titles: ReadonlyMap<Result, string>;
  /** The person who decided. */
  readonly by: string;
  /** The same person, if the caller decides for others. */
  readonly as?: string | undefined;
}

/** The page that says for each request what came of the decision. */
export function resultsPage({ caller, results, titles, by, as }: ResultsPageOptions): Html {
  const decided = results.filter((result) => 'view' in result).length;
  const again = results.filter((result) => 'error' in result && canBeRepeated(toProblem(result.error)));
  const title = `${decided} of ${pluralize(results.length, 'request')} decided`;
  return page({
    title,
    caller,
    current: 'inbox',
    isNarrow: true,
    body: html`${breadcrumbs(html`<a href="${PATHS.inbox}${queryString({ as })}">Inbox</a>`)}
<h1>${title}</h1>
${decided < results.length && notice('wait', `${pluralize(results.length - decided, 'request')} not decided`, html`<p>The list says why. Decisions on the others are recorded.</p>`)}
<ul class="inbox card sheet results">${results.map((result) => item(result, titles.get(result), by, as))}</ul>
<form method="post" action="${PATHS.decideTogether}" class="actions">${as !== undefined && html`<input type="hidden" name="as" value="${as}">`}${again.length > 0 && html`<button class="primary" name="list" value="${toListValue(again)}">Open ${pluralize(again.length, 'undecided request')} again</button>`}<a class="button" href="${PATHS.inbox}${queryString({ as })}">Back to the inbox</a></form>`,
  });
}

function item(result: Result, known: string | undefined, by: string, as: string | undefined): Html {
  const { run, approval } = result;
  const title = 'view' in result ? result.view.title : known;
  const path = `${PATHS.approval(run, approval)}${queryString({ as })}`;
  return html`<li><div><h2>${title === undefined ? html`<span class="id">${userText(approval)}</span>` : html`<a href="${path}">${userText(title)}</a>`}</h2>
<p class="quiet"><span class="id">${userText(run)}</span></p>
<p class="line">${'view' in result ? decidedText(result.view, result.isNew, by) : undecidedText(toProblem(result.error))}</p></div></li>`;
}

function decidedText(approval: ApprovalDocument, isNew: boolean, by: string): HtmlValue {
  const { status, votes } = approval;
  const own = ownVote(approval, by);
  if (!isNew && !own)
    return html`${statusBadge(status)}<span>Decided meanwhile by ${nameList(votes.filter(({ counts }) => counts).map(voterName))}.</span>`;
  const missing = status === 'PENDING' && `Your vote is recorded. ${remainingApprovals(approval)} needed.`;
  return html`${statusBadge(status)}<span>${missing || (isNew ? 'Your decision is recorded.' : 'You had decided this before.')}</span>`;
}

const undecidedText = (problem: Problem): HtmlValue =>
  html`${badge('bad', HEADLINES[problem.code] ?? 'Not decided')}<span>${userText(problem.detail)}</span>`;

const HEADLINES: { readonly [code in Problem['code']]?: string } = {
  APPROVAL_DECIDED: 'Decided meanwhile',
  APPROVAL_CHANGED: 'Changed meanwhile',
  APPROVAL_EXPIRED: 'Expired',
  APPROVAL_WITHDRAWN: 'Withdrawn',
  APPROVAL_NOT_FOUND: 'Not found',
  NOT_AN_APPROVER: 'Not an approver',
};

/** Whether the request can be decided after all: what it shows has changed, or the failure was not about it. */
const canBeRepeated = ({ code, status }: Problem): boolean =>
  code === 'APPROVAL_CHANGED' || code === 'STALE_VERSION' || status === 408 || status >= 500;
