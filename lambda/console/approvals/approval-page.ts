import { hasEnded, type Status } from '../../core/status.ts';
import type { Caller } from '../../http/caller.ts';
import { encodePathId } from '../../http/path-id.ts';
import { hasRole, OPERATE_ROLES, VIEW_ROLES } from '../../http/roles.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import type { DelegationView } from '../../runtime/approvals/delegations.ts';
import { breadcrumbs } from '../crumbs.ts';
import { type Html, html } from '../markup.ts';
import type { ProblemSummary } from '../notice.ts';
import { page } from '../page.ts';
import { PATHS, queryString } from '../paths.ts';
import { userText } from '../text.ts';
import { approvalDetails } from './approval-details.ts';
import { decideForm } from './decide-form.ts';
import { findDeciders, whyNotOffered } from './deciders.ts';
import { decisionProblem } from './decision-problem.ts';
import { outcome } from './outcome.ts';
import { peopleSection } from './people.ts';
import type { SubmittedFields } from './submitted-decision.ts';
import { isQuestion } from './words.ts';

export interface ApprovalPageOptions {
  readonly caller: Caller;
  readonly approval: ApprovalDocument;
  readonly run: { readonly status: Status };
  /** The follow-up request. */
  readonly followUp?: ApprovalDocument | undefined;
  /** The person for whom the caller decides, if the caller may decide for others. */
  readonly as?: string | undefined;
  /** The delegations of the approvers that hold now, if the caller could answer for one of them. */
  readonly delegations?: readonly DelegationView[] | undefined;
  readonly problem?: ProblemSummary | undefined;
  readonly formValues?: SubmittedFields | undefined;
  readonly now: Date;
}

/** The page of an approval in the console: the page of an approval link, plus actions for operators. */
export function approvalPage(options: ApprovalPageOptions): Html {
  const { caller, approval, run, followUp: again, as, problem, now } = options;
  const person = as ?? caller.person;
  const payloadUrl = (id: string) =>
    `/api/runs/${encodePathId(approval.run)}/approvals/${encodePathId(approval.id)}/payloads/${encodePathId(id)}`;
  const isPending = approval.status === 'PENDING';
  const isOver = !isPending && hasEnded(run.status);
  const people = peopleSection(approval, now);
  return page({
    title: approval.title,
    caller,
    current: 'inbox',
    isNarrow: true,
    live: isOver ? undefined : '',
    body: html`${breadcrumbs(html`<a href="${PATHS.inbox}">Inbox</a>`, hasRole(caller, VIEW_ROLES) && html`<a href="${PATHS.run(approval.run)}">Run <span class="id">${userText(approval.run)}</span></a>`)}
${problem && decisionProblem(approval, problem)}
${outcome(approval, run, { person, runUrl: hasRole(caller, VIEW_ROLES) ? PATHS.run(approval.run) : undefined, followUp: again, followUpUrl: again && `${PATHS.approval(again.run, again.id)}${queryString({ as })}`, now })}
${approvalDetails(approval, { payloadUrl }, now)}
${!isQuestion(approval) && people}
${isPending ? answering(options, person) : html`<div data-key="form" data-quiet data-rev="ended"></div>`}
${isQuestion(approval) && people}
${hasRole(caller, VIEW_ROLES) && evidenceLink(approval)}
${isPending && hasRole(caller, OPERATE_ROLES) && forOperators(approval)}`,
  });
}

const evidenceLink = ({ run, id }: ApprovalDocument): Html =>
  html`<p class="actions"><a class="button" download="evidence.json" href="/api/runs/${encodePathId(run)}/approvals/${encodePathId(id)}/evidence">Download evidence</a></p>`;

function answering(
  { caller, approval, delegations, formValues, problem }: ApprovalPageOptions,
  person: string | undefined,
): Html {
  const who = findDeciders(caller, approval, person, delegations);
  if (who) return decideForm(approval, who, { given: formValues, problem });
  return html`<p class="quiet" data-key="form" data-quiet data-rev="nobody ${approval.approvers.length}">${whyNotOffered(caller, approval, person)}</p>`;
}

function forOperators(approval: ApprovalDocument): Html {
  const { run, id } = approval;
  const [noun, outcome] = isQuestion(approval)
    ? ['question', 'without an answer']
    : ['request', 'as if it was rejected'];
  return html`<details class="card"><summary>Remind or withdraw</summary>
<form method="post" action="${PATHS.approval(run, id)}/remind" class="stack"><p class="hint">Notifies the approvers again.</p><button>Send reminder</button></form>
<form method="post" action="${PATHS.approval(run, id)}/withdraw" class="stack"><p class="hint">Closes the ${noun}. The agent continues ${outcome}.</p>
<div><label for="reason">Reason</label><input id="reason" name="reason" required maxlength="500"></div><button class="reject">Withdraw ${noun}</button></form></details>`;
}
