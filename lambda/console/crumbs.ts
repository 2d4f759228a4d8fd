import { type Html, html, type Part } from './markup.ts';
import { PATHS } from './paths.ts';
import { text } from './text.ts';

/** The way to a page of a run: the list, the run, and what is between it and the page. */
export const runCrumbs = (run: string, ...between: readonly Part[]): Html =>
  crumbs(
    html`<a href="${PATHS.runs}">Runs</a>`,
    html`<a href="${PATHS.run(run)}"><span class="id">${text(run)}</span></a>`,
    ...between,
  );

/** The pages above a page, the highest first. */
export const crumbs = (...above: readonly Part[]): Html =>
  html`<p class="crumbs">${above.filter(Boolean).map((each, i) => html`${i > 0 && ' / '}${each}`)}</p>`;
