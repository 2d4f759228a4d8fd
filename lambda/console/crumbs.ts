import { type Html, type HtmlValue, html } from './markup.ts';
import { PATHS } from './paths.ts';
import { userText } from './text.ts';

/** Breadcrumbs of a page of a run: the list, the run, and the pages in between. */
export const runBreadcrumbs = (run: string, ...between: readonly HtmlValue[]): Html =>
  breadcrumbs(
    html`<a href="${PATHS.runs}">Runs</a>`,
    html`<a href="${PATHS.run(run)}"><span class="id">${userText(run)}</span></a>`,
    ...between,
  );

/** Breadcrumbs: links to the parent pages, topmost first. */
export const breadcrumbs = (...above: readonly HtmlValue[]): Html =>
  html`<p class="crumbs">${above.filter(Boolean).map((each, i) => html`${i > 0 && ' / '}${each}`)}</p>`;
