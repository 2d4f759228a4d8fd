import type { Caller } from '../../http/caller.ts';
import type { Lineage, LineageNode } from '../../operator/lineage.ts';
import { runBreadcrumbs } from '../crumbs.ts';
import { type Html, html } from '../markup.ts';
import { page } from '../page.ts';
import { PATHS } from '../paths.ts';
import { statusBadge } from '../status-badge.ts';
import { userText } from '../text.ts';

/** The tree of forks that a run is in. */
export const lineagePage = (caller: Caller, run: string, lineage: Lineage): Html =>
  page({
    title: 'Forks',
    caller,
    current: 'runs',
    body: html`${runBreadcrumbs(run)}
<h1>Forks</h1>
<section class="card" id="lineage" aria-labelledby="lineage-title"><h2 id="lineage-title">Forks</h2>${tree(run, lineage)}</section>`,
  });

function tree(run: string, { root, isMore }: Lineage): Html {
  if (root.run === run && root.forks.length === 0)
    return html`<p class="quiet">It was forked from nothing, and nothing was forked from it. Fork it to try another way from any checkpoint.</p>`;
  return html`<ul class="tree">${relative(run, root)}</ul>${isMore && html`<p class="quiet">There are more forks than are shown here.</p>`}`;
}

function relative(run: string, { run: id, status, fromVersion, forks }: LineageNode): Html {
  const name = html`<span class="id">${userText(id)}</span>`;
  const link =
    status === undefined
      ? html`${name} <span class="quiet">(gone)</span>`
      : html`<a href="${PATHS.run(id)}"${id === run && html` aria-current="true"`}>${name}</a> ${statusBadge(status)}`;
  return html`<li><span class="line">${link}${fromVersion !== undefined && html` <span class="quiet">from checkpoint ${fromVersion}</span>`}</span>${
    forks.length > 0 && html`<ul>${forks.map((each) => relative(run, each))}</ul>`
  }</li>`;
}
