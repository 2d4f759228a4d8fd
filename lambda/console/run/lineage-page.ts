import type { Caller } from '../../http/caller.ts';
import type { Lineage, LineageNode } from '../../operator/lineage.ts';
import { runBreadcrumbs } from '../crumbs.ts';
import { type Html, html } from '../markup.ts';
import { page } from '../page.ts';
import { PATHS } from '../paths.ts';
import { statusBadge } from '../status-badge.ts';
import { userText } from '../text.ts';

/** The page with the tree of forks that a run belongs to. */
export const lineagePage = (caller: Caller, run: string, lineage: Lineage): Html =>
  page({
    title: 'Forks',
    caller,
    current: 'runs',
    body: html`${runBreadcrumbs(run)}
<h1>Forks</h1>
<section class="card" id="lineage" aria-labelledby="lineage-title"><h2 id="lineage-title">Forks</h2>${lineageTree(run, lineage)}</section>`,
  });

function lineageTree(run: string, { root, hasMore }: Lineage): Html {
  if (root.run === run && root.forks.length === 0)
    return html`<p class="quiet">No forks. Fork the run to try another path from any checkpoint.</p>`;
  return html`<ul class="tree">${nodeItem(run, root)}</ul>${hasMore && html`<p class="quiet">Not all forks are shown.</p>`}`;
}

function nodeItem(run: string, { run: id, status, fromVersion, forks }: LineageNode): Html {
  const name = html`<span class="id">${userText(id)}</span>`;
  const link =
    status === undefined
      ? html`${name} <span class="quiet">(deleted)</span>`
      : html`<a href="${PATHS.run(id)}"${id === run && html` aria-current="true"`}>${name}</a> ${statusBadge(status)}`;
  return html`<li><span class="line">${link}${fromVersion !== undefined && html` <span class="quiet">from checkpoint ${fromVersion}</span>`}</span>${
    forks.length > 0 && html`<ul>${forks.map((each) => nodeItem(run, each))}</ul>`
  }</li>`;
}
