import { type Html, type HtmlValue, html } from './markup.ts';
import { userText } from './text.ts';

/** A problem, as pages show it. */
export interface ProblemSummary {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** What is wrong with fields of a submitted form, by JSON pointer. */
  readonly errors?: readonly { readonly path: string; readonly detail: string }[];
}

/** A notice at the top of a page. Screen readers announce a bad one immediately. */
export const notice = (
  tone: 'ok' | 'bad' | 'wait' | 'neutral',
  title: HtmlValue,
  ...content: readonly HtmlValue[]
): Html => html`<div class="notice ${tone}"${tone === 'bad' && html` role="alert"`}><h2>${title}</h2>${content}</div>`;

/** The notice of a problem with a submitted form. */
export const problemNotice = ({ title, detail }: ProblemSummary): Html =>
  notice('bad', userText(title), html`<p>${userText(detail)}</p>`);
