import type { Caller } from '../../../http/caller.ts';
import { DECIDE_ROLES, hasRole } from '../../../http/roles.ts';
import type { DelegationView } from '../../../runtime/approvals/delegations.ts';
import { breadcrumbs } from '../../crumbs.ts';
import { type Html, html } from '../../markup.ts';
import { notice, type ProblemSummary, problemNotice } from '../../notice.ts';
import { page } from '../../page.ts';
import { PATHS, queryString } from '../../paths.ts';
import { userText } from '../../text.ts';
import { exactTime, relativeTime } from '../../time.ts';

/** The fields of the submitted form, to fill it in again after an error. */
type AwayFields = Readonly<Partial<Record<'person' | 'delegate' | 'from' | 'until', string>>>;

export interface AwayPageOptions {
  readonly caller: Caller;
  /** Whose page it is; undefined for callers who only see who is away. */
  readonly person?: string | undefined;
  /** The delegations from and to the person, or of everybody without one. */
  readonly delegations: readonly DelegationView[];
  readonly problem?: ProblemSummary | undefined;
  readonly formValues?: AwayFields | undefined;
  readonly now: Date;
}

/** The page on which people say who answers for them while they are away, and see for whom they answer. */
export function awayPage({ caller, person, delegations, problem, formValues = {}, now }: AwayPageOptions): Html {
  const own = delegations.find((each) => each.person === person);
  const others = delegations.filter((each) => each !== own);
  const mayEnd = (each: DelegationView) =>
    caller.decidesForOthers || [each.person, each.delegate].some((name) => name === caller.person);
  const list = html`<ul class="inbox">${others.map((each) => delegationItem(each, person, mayEnd(each), now))}</ul>`;
  return page({
    title: 'Away',
    caller,
    current: 'inbox',
    isNarrow: true,
    body: html`${breadcrumbs(html`<a href="${PATHS.inbox}${queryString({ as: caller.decidesForOthers ? person : undefined })}">Inbox</a>`)}
<header><h1>Away</h1>
<p class="lead">Someone else can answer approvals and questions for a person who is away.</p></header>
${problem && problemNotice(problem)}
${own && ownDelegation(own, caller, mayEnd(own), now)}
${(person !== undefined || caller.decidesForOthers) && hasRole(caller, DECIDE_ROLES) && awayForm(caller, person, own, formValues)}
${others.length > 0 && html`<section class="card sheet" aria-labelledby="others"><h2 id="others">${person === undefined ? 'Who is away' : html`${nameOf(caller, person, 'You answer', 'answers')} for others`}</h2>${list}</section>`}
${others.length === 0 && !own && html`<p class="quiet">${person === undefined ? 'Nobody is away.' : html`${nameOf(caller, person, 'You do', 'does')} not answer for anyone.`}</p>`}`,
  });
}

/** Speaks to the reader, or names the person for whom they act. */
const nameOf = (caller: Caller, person: string, you: string, verb: string): Html =>
  caller.person === person ? html`${you}` : html`${userText(person)} ${verb}`;

function ownDelegation(
  { person, delegate, from, until }: DelegationView,
  caller: Caller,
  mayEnd: boolean,
  now: Date,
): Html {
  const isPlanned = from > now;
  const who = caller.person === person ? html`you` : userText(person);
  return notice(
    'wait',
    html`${userText(delegate)} ${isPlanned ? 'will answer' : 'answers'} for ${who}`,
    html`<p>${isPlanned ? html`From ${when(from, now)} until` : 'Until'} ${when(until, now)}. Both can answer; together they have one vote.</p>
${mayEnd && endForm(person, isPlanned ? 'Cancel' : 'End now')}`,
  );
}

const when = (moment: Date, now: Date): Html =>
  html`${exactTime(moment)} <span class="quiet">(${relativeTime(moment, now)})</span>`;

const endForm = (person: string, label: string): Html =>
  html`<form method="post" action="${PATHS.away}/end" class="actions"><input type="hidden" name="person" value="${person}"><button>${label}<span class="unseen"> the delegation of ${userText(person)}</span></button></form>`;

function delegationItem(
  { person, delegate, from, until, createdBy }: DelegationView,
  reader: string | undefined,
  mayEnd: boolean,
  now: Date,
): Html {
  return html`<li><div><h3>${delegate === reader ? html`For ${userText(person)}` : html`${userText(delegate)} for ${userText(person)}`}</h3>
${createdBy !== person && html`<p class="quiet">Made by ${userText(createdBy)}</p>`}
${mayEnd && endForm(person, 'End now')}</div>
<dl>${from > now && html`<div><dt>From</dt><dd>${when(from, now)}</dd></div>`}<div><dt>Until</dt><dd>${when(until, now)}</dd></div></dl></li>`;
}

function awayForm(
  caller: Caller,
  person: string | undefined,
  own: DelegationView | undefined,
  given: AwayFields,
): Html {
  const name = html`placeholder="user:…" pattern="user:.+" title="user: followed by a name" maxlength="256" autocomplete="off" autocapitalize="off" spellcheck="false" required`;
  const isSelf = !caller.decidesForOthers;
  return html`<section class="card" aria-labelledby="away"><h2 id="away">${own ? 'Change the delegation' : isSelf ? 'Say who answers for you' : 'Say who answers for a person'}</h2>
<form method="post" action="${PATHS.away}" class="stack">
${!isSelf && html`<div><label for="person">Who is away</label><input id="person" name="person" value="${given.person ?? person ?? ''}" ${name}></div>`}
<div><label for="delegate">Who answers</label><input id="delegate" name="delegate" value="${given.delegate ?? own?.delegate ?? ''}" ${name}></div>
<div class="two"><div><label for="from">From <span class="quiet">(optional)</span></label>${timeInput('from', given.from, false)}</div>
<div><label for="until">Until</label>${timeInput('until', given.until, true)}</div></div>
<p class="hint" id="zone">Times are in <span data-zone>UTC</span>. At most 366 days from now.</p>
<p class="hint">The delegate gets links of their own, and decides wherever ${isSelf ? 'you are' : 'the person is'} an approver. Each decision records both names.</p>
<div class="actions"><button class="primary">${own ? 'Save' : 'Delegate'}</button></div>
</form></section>`;
}

const timeInput = (name: string, value: string | undefined, isRequired: boolean): Html =>
  html`<input type="datetime-local" id="${name}" name="${name}" value="${value ?? ''}" data-local aria-describedby="zone"${isRequired && html` required`}>`;
