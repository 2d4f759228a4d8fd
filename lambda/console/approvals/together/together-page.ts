import type { Caller } from '../../../http/caller.ts';
import type { ApprovalDocument } from '../../../operator/approval-document.ts';
import { breadcrumbs } from '../../crumbs.ts';
import { pluralize } from '../../document/show-options.ts';
import { type Html, html } from '../../markup.ts';
import { notice, type ProblemSummary, problemNotice } from '../../notice.ts';
import { page } from '../../page.ts';
import { PATHS, queryString } from '../../paths.ts';
import { userText } from '../../text.ts';
import { commentField, type Deciders, deciderFields } from '../decide-form.ts';
import type { SubmittedFields } from '../submitted-decision.ts';
import { kindName } from './kind-name.ts';
import { requestCard } from './request-card.ts';
import type { LeftOut, Offered, Review } from './review.ts';
import { toListValue } from './selection.ts';

export interface TogetherPageOptions extends Review {
  readonly caller: Caller;
  /** The person whose inbox the requests come from, if the caller may decide for others. */
  readonly as?: string | undefined;
  /** The requests whose boxes are checked. @default all */
  readonly checked?: ReadonlySet<string> | undefined;
  readonly problem?: ProblemSummary | undefined;
  readonly formValues?: SubmittedFields | undefined;
  readonly now: Date;
}

/** The page that shows several requests of one kind in full, with one form that decides them. */
export function togetherPage(options: TogetherPageOptions): Html {
  const { caller, as, problem, formValues: given } = options;
  const { cards, offered, leftOut } = fitPage(options);
  const [first] = offered;
  const title = first ? `Decide ${pluralize(offered.length, 'request')} together` : 'Nothing to decide';
  return page({
    title,
    caller,
    current: 'inbox',
    isNarrow: true,
    body: html`${breadcrumbs(html`<a href="${PATHS.inbox}${queryString({ as })}">Inbox</a>`)}
${problem && problemNotice(problem)}
<header>${first && html`<p class="eyebrow">${kindName(first.approval)}</p>`}
<h1>${title}</h1>
${first && html`<p class="lead">Read each request. Clear the box of a request that you want to decide by itself.</p>`}</header>
${leftOut.length > 0 && leftOutNotice(leftOut)}
${
  first
    ? html`<form method="post" action="${PATHS.decideTogether}" class="stack">
<input type="hidden" name="list" value="${toListValue(offered.map(({ approval: { run, id } }) => ({ run, approval: id })))}">
${as !== undefined && html`<input type="hidden" name="as" value="${as}">`}
<ol class="requests">${cards}</ol>
<section class="card" aria-labelledby="answer"><h2 id="answer">Your decision</h2>
<p class="hint">It is recorded for each selected request by itself, with the same comment.</p>
${deciderFields(allDeciders(offered, as), given ?? {})}
${commentField(given?.comment)}
<div class="decide"><button class="approve" name="answer" value="approve" data-counted="Approve #">Approve selected</button><button class="reject" name="answer" value="reject" data-counted="Reject #">Reject selected</button></div>
</section></form>`
    : html`<p class="actions"><a class="button" href="${PATHS.inbox}${queryString({ as })}">Go to the inbox</a></p>`
}`,
  });
}

// A Lambda response is limited to 6 MB, and a reader to less.
const MAX_PAGE_CHARACTERS = 1_500_000;
const MAX_CARD_CHARACTERS = 300_000;
const TOO_LARGE = 'It is too large for this page. Decide it on its own page.';
const NO_ROOM = 'This page has no room for it. Decide these first.';

/** Renders the requests that fit the page, each in full: nobody decides what the page does not show. */
function fitPage({
  offered,
  leftOut,
  checked,
  now,
}: TogetherPageOptions): Review & { readonly cards: readonly Html[] } {
  const cards: Html[] = [];
  const fitting: Offered[] = [];
  const others: LeftOut[] = [...leftOut];
  let room = MAX_PAGE_CHARACTERS;
  for (const each of offered) {
    const { run, id: approval, title } = each.approval;
    const leaveOut = (why: string) => others.push({ run, approval, title, why });
    if (sizeOf(each.approval) > MAX_CARD_CHARACTERS) {
      leaveOut(TOO_LARGE);
      continue;
    }
    const isChecked = checked === undefined || checked.has(toListValue([{ run, approval }]));
    const people = 'as' in each.deciders ? each.deciders.for : undefined;
    const card = requestCard({ approval: each.approval, index: fitting.length, isChecked, for: people, now });
    if (card.length > MAX_CARD_CHARACTERS) leaveOut(TOO_LARGE);
    else if (card.length > room) leaveOut(NO_ROOM);
    else {
      room -= card.length;
      cards.push(card);
      fitting.push(each);
    }
  }
  return { cards, offered: fitting, leftOut: others };
}

/** The size of what a request shows, as JSON; its markup is larger. */
const sizeOf = ({ show, facts, changed, proposal, votes }: ApprovalDocument): number =>
  JSON.stringify([show, facts, changed, proposal, votes]).length;

function leftOutNotice(leftOut: readonly LeftOut[]): Html {
  const items = leftOut.map(
    ({ run, approval, title, why }) =>
      html`<li>${title === undefined ? html`<span class="id">${userText(run)}</span>` : html`<a href="${PATHS.approval(run, approval)}">${userText(title)}</a> <span class="quiet">(<span class="id">${userText(run)}</span>)</span>`}: ${why}</li>`,
  );
  return notice(
    'wait',
    `${pluralize(leftOut.length, 'request')} not on this page`,
    html`<ul class="plain">${items}</ul>`,
  );
}

/** Who can decide the requests: the caller, or everybody who can decide at least one of them. */
function allDeciders(offered: readonly Offered[], as: string | undefined): Deciders {
  const [first] = offered;
  // Each request says for whom a delegate answers, and the decision finds it.
  if (first && 'as' in first.deciders) return { as: first.deciders.as };
  const choices = offered.flatMap(({ deciders }) => ('as' in deciders ? [] : deciders));
  const counts = new Map<string, number>();
  for (const person of choices.flatMap(({ people }) => people)) counts.set(person, (counts.get(person) ?? 0) + 1);
  const people = [...counts.keys()].toSorted((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0));
  const groups = [...new Set(choices.flatMap((choice) => choice.groups))];
  return {
    people,
    groups,
    delegates: choices.flatMap(({ delegates = [] }) => delegates).filter(({ delegate }) => !counts.has(delegate)),
    chosen: choices.some(({ chosen }) => chosen !== undefined) ? as : undefined,
    notes: new Map(
      people.flatMap((person) => {
        const count = counts.get(person) ?? 0;
        return count < offered.length ? [[person, `can decide ${count} of ${offered.length}`] as const] : [];
      }),
    ),
  };
}
