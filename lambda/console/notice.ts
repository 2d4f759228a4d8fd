import { type Html, type HtmlValue, html } from './markup.ts';
import { userText } from './text.ts';

/** What went wrong, for people. */
export interface ProblemSummary {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
}

/** Something to be read first. What went wrong is read out at once. */
export const notice = (
  tone: 'ok' | 'bad' | 'wait' | 'rest',
  title: HtmlValue,
  ...content: readonly HtmlValue[]
): Html => html`<div class="notice ${tone}"${tone === 'bad' && html` role="alert"`}><h2>${title}</h2>${content}</div>`;

/** What went wrong with what somebody just sent. */
export const problemNotice = ({ title, detail }: ProblemSummary): Html =>
  notice('bad', userText(title), html`<p>${userText(detail)}</p>`);
