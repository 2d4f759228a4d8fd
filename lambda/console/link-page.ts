import { hasEnded } from '../core/status.ts';
import { encodePathId } from '../http/path-id.ts';
import type { ApprovalDocument } from '../operator/approval-document.ts';
import type { LinkedApproval } from '../operator/operator.ts';
import { approvalDetails } from './approvals/approval-details.ts';
import { decideForm } from './approvals/decide-form.ts';
import { decisionProblem } from './approvals/decision-problem.ts';
import { outcome } from './approvals/outcome.ts';
import { ownVote, peopleSection } from './approvals/people.ts';
import type { SubmittedFields } from './approvals/submitted-decision.ts';
import { isQuestion } from './approvals/words.ts';
import { type Html, html } from './markup.ts';
import { notice, type ProblemSummary } from './notice.ts';
import { page } from './page.ts';
import { plainText, userText } from './text.ts';

export interface LinkPageOptions {
  /** For the URLs of payloads; the page never shows it as text. */
  readonly token: string;
  /** Why the decision was not accepted. */
  readonly problem?: ProblemSummary | undefined;
  /** The submitted values. */
  readonly formValues?: SubmittedFields | undefined;
  /** Whether the reader has just decided. */
  readonly wasJustDecided?: boolean | undefined;
  readonly now: Date;
}

/** The page of an approval link: the request, the form, and later the outcome. The form posts to its path. */
export function linkPage(link: LinkedApproval, options: LinkPageOptions): Html {
  const { approval, person, run, followUp, delegationEnded = false } = link;
  const { token, problem, formValues, wasJustDecided = false, now } = options;
  const { for: delegator } = approval;
  const isOpen = approval.status === 'PENDING' && !ownVote(approval, person);
  // Someone else may have voted for the person who is away, or they themself.
  const canDecide = isOpen && !delegationEnded && !ownVote(approval, delegator);
  const deciders = { as: person, ...(delegator !== undefined && { for: [delegator] }) };
  // Without the query, which says that the reader has decided: they may decide again on proposed changes.
  const path = `/approvals/${encodeURIComponent(token)}`;
  const payloadUrl = (id: string) => `${path}/payloads/${encodePathId(id)}`;
  const mayChange = approval.status === 'PENDING' || !hasEnded(run.status);
  const people = peopleSection(approval, now);
  return page({
    title: `${wasJustDecided ? (isQuestion(approval) ? 'Answered: ' : 'Decided: ') : ''}${plainText(approval.title)}`,
    isNarrow: true,
    live: mayChange ? '' : undefined,
    body: html`${problem && decisionProblem(approval, problem)}
${isOpen && delegationEnded && delegator !== undefined && endedNotice(approval, person, delegator)}
${outcome(approval, run, { person, followUp, now })}
${approvalDetails(approval, { payloadUrl }, now)}
${!isQuestion(approval) && people}
${canDecide ? decideForm(approval, deciders, { given: formValues, problem, action: path }) : html`<div data-key="form" data-quiet data-rev="ended"></div>`}
${isQuestion(approval) && people}`,
  });
}

const endedNotice = (approval: ApprovalDocument, person: string, delegator: string): Html =>
  notice(
    'wait',
    `This link can no longer ${isQuestion(approval) ? 'answer' : 'decide'}`,
    html`<p>${userText(person)} no longer answers for ${userText(delegator)}. ${userText(delegator)} or another approver must ${isQuestion(approval) ? 'answer' : 'decide'}.</p>`,
  );
