import { type Html, html, type Part } from './markup.ts';
import { text } from './text.ts';

/** What went wrong, for people. */
export interface Trouble {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
}

/** Something to be read first. What went wrong is read out at once. */
export const notice = (tone: 'ok' | 'bad' | 'wait' | 'rest', title: Part, ...content: readonly Part[]): Html =>
  html`<div class="notice ${tone}"${tone === 'bad' && html` role="alert"`}><h2>${title}</h2>${content}</div>`;

/** What went wrong with what somebody just sent. */
export const trouble = ({ title, detail }: Trouble): Html => notice('bad', text(title), html`<p>${text(detail)}</p>`);
