import { type Html, type HtmlValue, html } from './markup.ts';
import { PATHS } from './paths.ts';
import { userText } from './text.ts';

/** The way to a page of a run: the list, the run, and what is between it and the page. */
export const runBreadcrumbs = (run: string, ...between: readonly HtmlValue[]): Html =>
  breadcrumbs(
    html`<a href="${PATHS.runs}">Runs</a>`,
    html`<a href="${PATHS.run(run)}"><span class="id">${userText(run)}</span></a>`,
    ...between,
  );

/** The pages above a page, the highest first. */
export const breadcrumbs = (...above: readonly HtmlValue[]): Html =>
  html`<p class="crumbs">${above.filter(Boolean).map((each, i) => html`${i > 0 && ' / '}${each}`)}</p>`;
