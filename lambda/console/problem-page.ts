import type { Caller } from '../http/caller.ts';
import { hasRole, VIEW_ROLES } from '../http/roles.ts';
import { type Html, html } from './markup.ts';
import type { ProblemSummary } from './notice.ts';
import { page } from './page.ts';
import { PATHS } from './paths.ts';
import { userText } from './text.ts';

/** A link out of an error page. */
interface BackLink {
  readonly path: string;
  readonly label: string;
}

/** The link back from a page of a run: to the run, or to the list if the run does not exist. */
export function backLink(path: string, code: string, caller: Caller | undefined): BackLink | undefined {
  const [run, page] = /^\/console\/runs\/([^/]+)(\/.+)?$/.exec(path)?.slice(1) ?? [];
  if (run === undefined || !caller || !hasRole(caller, VIEW_ROLES)) return undefined;
  const isThere = page !== undefined && !code.startsWith('RUN_');
  return isThere ? { path: `${PATHS.runs}/${run}`, label: 'Go to the run' } : { path: PATHS.runs, label: 'View runs' };
}

/** The error page: what went wrong, and what to do. */
export const problemPage = ({ status, title, detail }: ProblemSummary, caller?: Caller, back?: BackLink): Html =>
  page({
    title,
    caller,
    isNarrow: true,
    body: html`<section class="card empty">
<p class="eyebrow">${status}</p>
<h1>${userText(title)}</h1>
<p>${userText(detail)}</p>
${caller && html`<p class="actions">${back && html`<a class="button primary" href="${back.path}">${back.label}</a>`}<a class="button" href="${PATHS.home}">Go to the console</a></p>`}
</section>`,
  });
