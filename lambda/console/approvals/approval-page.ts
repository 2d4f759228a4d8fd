import { isGroup, mayDecide } from '../../core/approval.ts';
import { hasEnded, type Status } from '../../core/status.ts';
import type { Caller } from '../../http/caller.ts';
import { pathId } from '../../http/path-id.ts';
import { ANSWER, LOOK, may, OPERATE } from '../../http/roles.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { crumbs } from '../crumbs.ts';
import { type Html, html } from '../markup.ts';
import { type Trouble, trouble } from '../notice.ts';
import { page } from '../page.ts';
import { PATHS, query } from '../paths.ts';
import { text } from '../text.ts';
import { type Answering, decideForm, type Given } from './decide-form.ts';
import { outcome } from './outcome.ts';
import { people } from './people.ts';
import { question } from './question.ts';

export interface ApprovalPageOptions {
  readonly caller: Caller;
  readonly approval: ApprovalDocument;
  readonly run: { readonly status: Status };
  /** The question that followed it. */
  readonly again?: ApprovalDocument | undefined;
  /** The person as whom a caller answers who may answer for others. */
  readonly as?: string | undefined;
  readonly problem?: Trouble | undefined;
  readonly given?: Given | undefined;
  readonly now: Date;
}

/** An approval for those who are logged in: like the page behind a link, and with what operators can do. */
export function approvalPage(options: ApprovalPageOptions): Html {
  const { caller, approval, run, again, as, problem, given, now } = options;
  const person = as ?? caller.person;
  const payloadUrl = (id: string) =>
    `/api/runs/${pathId(approval.run)}/approvals/${pathId(approval.id)}/payloads/${pathId(id)}`;
  const isPending = approval.status === 'PENDING';
  const isOver = !isPending && hasEnded(run.status);
  return page({
    title: approval.title,
    caller,
    current: 'inbox',
    isNarrow: true,
    live: isOver ? undefined : '',
    body: html`${crumbs(html`<a href="${PATHS.inbox}">Inbox</a>`, may(caller, LOOK) && html`<a href="${PATHS.run(approval.run)}">Run <span class="id">${text(approval.run)}</span></a>`)}
${problem && trouble(problem)}
${outcome(approval, run, { person, link: may(caller, LOOK) ? PATHS.run(approval.run) : undefined, again, againLink: again && `${PATHS.approval(again.run, again.id)}${query({ as })}`, now })}
${question(approval, { payloadUrl }, now)}
${people(approval, now)}
${isPending ? answering(caller, approval, person, given) : html`<div data-key="form" data-quiet data-rev="over"></div>`}
${isPending && may(caller, OPERATE) && forOperators(approval)}`,
  });
}

/** Whether a caller may answer at all: as the person that they are, or for others. */
const mayAnswer = (caller: Caller): boolean =>
  may(caller, ANSWER) && (caller.person !== undefined || caller.answersForOthers);

function answering(caller: Caller, approval: ApprovalDocument, person: string | undefined, given?: Given): Html {
  const who = answeringIn(caller, approval, person);
  if (who) return decideForm(approval, who, given);
  const why = mayAnswer(caller) ? 'You are not among those who are asked.' : 'You may look, but not answer.';
  return html`<p class="quiet" data-key="form" data-quiet data-rev="nobody ${approval.approvers.length}">${why}</p>`;
}

function answeringIn(caller: Caller, approval: ApprovalDocument, person: string | undefined): Answering | undefined {
  if (!mayAnswer(caller)) return undefined;
  const hasAnswered = approval.votes.some(({ by }) => by === person);
  if (caller.answersForOthers) {
    const groups = approval.approvers.filter(isGroup);
    const asked = approval.approvers.filter((approver) => !isGroup(approver));
    const people = asked.filter((approver) => !approval.votes.some(({ by }) => by === approver));
    const isMeant = person !== undefined && !hasAnswered && mayDecide(approval, person, groups);
    return people.length + groups.length > 0 ? { people, groups, chosen: isMeant ? person : undefined } : undefined;
  }
  if (person === undefined || hasAnswered || !mayDecide(approval, person, caller.groups)) return undefined;
  return { as: person };
}

const forOperators = ({ run, id }: ApprovalDocument): Html =>
  html`<details class="card"><summary>Remind or withdraw</summary>
<form method="post" action="${PATHS.approval(run, id)}/remind" class="stack"><p class="hint">Those who are asked are told once more.</p><button>Remind them</button></form>
<form method="post" action="${PATHS.approval(run, id)}/withdraw" class="stack"><p class="hint">Nobody can answer any more, and the agent takes it for a no.</p>
<div><label for="why">Why it is withdrawn</label><input id="why" name="why" required maxlength="500"></div><button class="reject">Withdraw the question</button></form></details>`;
