import { hasEnded } from '../core/status.ts';
import { pathId } from '../http/path-id.ts';
import type { OpenedLink } from '../operator/operator.ts';
import { decideForm, type Given } from './approvals/decide-form.ts';
import { outcome } from './approvals/outcome.ts';
import { people } from './approvals/people.ts';
import { question } from './approvals/question.ts';
import { type Html, html } from './markup.ts';
import { type Trouble, trouble } from './notice.ts';
import { page } from './page.ts';
import { plain } from './text.ts';

export interface LinkPageOptions {
  /** For what is fetched from behind the link; the page itself never shows it. */
  readonly token: string;
  /** Why an answer was not taken. */
  readonly problem?: Trouble | undefined;
  /** What was filled in then. */
  readonly given?: Given | undefined;
  /** Whether the reader's answer was just taken. */
  readonly justDecided?: boolean | undefined;
  readonly now: Date;
}

/** The page behind a link: what is asked, the form that answers, and then what came of it. Posts to its own URL. */
export function linkPage(link: OpenedLink, options: LinkPageOptions): Html {
  const { approval, person, run, again } = link;
  const { token, problem, given, justDecided = false, now } = options;
  const isOpen = approval.status === 'PENDING' && !approval.votes.some(({ by }) => by === person);
  const payloadUrl = (id: string) => `/approvals/${encodeURIComponent(token)}/payloads/${pathId(id)}`;
  const goesOn = approval.status === 'PENDING' || !hasEnded(run.status);
  return page({
    title: `${justDecided ? 'Answered: ' : ''}${plain(approval.title)}`,
    isNarrow: true,
    live: goesOn ? '' : undefined,
    body: html`${problem && trouble(problem)}
${outcome(approval, run, { person, again, now })}
${question(approval, { payloadUrl }, now)}
${people(approval, now)}
${isOpen ? decideForm(approval, { as: person }, given) : html`<div data-key="form" data-quiet data-rev="over"></div>`}`,
  });
}
