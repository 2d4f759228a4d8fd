import type { Caller } from '../api/caller.ts';
import { type Html, html } from './markup.ts';
import type { Trouble } from './notice.ts';
import { page } from './page.ts';
import { PATHS } from './paths.ts';
import { text } from './text.ts';

/** A page that says what went wrong, and what to do. */
export const problemPage = ({ status, title, detail }: Trouble, caller?: Caller): Html =>
  page({
    title,
    caller,
    isNarrow: true,
    body: html`<section class="card empty">
<p class="eyebrow">${status}</p>
<h1>${text(title)}</h1>
<p>${text(detail)}</p>
${caller && html`<p class="actions"><a class="button" href="${PATHS.home}">Go to the console</a></p>`}
</section>`,
  });
