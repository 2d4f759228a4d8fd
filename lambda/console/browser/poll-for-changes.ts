import { FetchError, fetchPage } from './fetch-page.ts';
import { followRun } from './follow-run.ts';
import { updateInboxCount } from './inbox-count.ts';
import { loadParts } from './parts.ts';
import { keepSelections, updateCounts } from './selections.ts';
import { updateTimes } from './times.ts';

const MIN_DELAY_MS = 2000;
const MAX_DELAY_MS = 30_000;
const FAILURE_DELAY_MS = 4000;

/**
 * Keeps a page with a live URL up to date: at once when the run of the page reports news, and otherwise by polling, with
 * backoff while nothing changes, and never in a hidden tab.
 */
export async function pollForChanges(): Promise<void> {
  let delay = MIN_DELAY_MS;
  let hasNews = false;
  let wake = () => {};
  followRun(() => {
    hasNews = true;
    wake();
  });
  for (;;) {
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    if (!hasNews) await Promise.race([sleep(delay), becomesVisible(), woken]);
    hasNews = false;
    if (document.hidden) await becomesVisible();
    const url = document.getElementById('main')?.dataset.live;
    if (url === undefined) return;
    try {
      const changes = await fetchPage(url);
      showConnection(true);
      delay = changes && applyChanges(changes) ? MIN_DELAY_MS : Math.min(delay * 1.5, MAX_DELAY_MS);
    } catch (error) {
      showConnection(false);
      if (error instanceof FetchError && error.isFinal) return;
      delay = Math.min(Math.max(delay, FAILURE_DELAY_MS) * 1.5, MAX_DELAY_MS);
    }
  }
}

/** Shows a notice while the connection is lost. */
function showConnection(isConnected: boolean): void {
  const existing = document.getElementById('offline');
  if (isConnected) existing?.remove();
  if (isConnected || existing) return;
  const note = document.createElement('p');
  note.id = 'offline';
  note.setAttribute('role', 'status');
  document.body.append(note);
  note.textContent = 'Connection lost. This page may be out of date.';
}

const sleep = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

const becomesVisible = () =>
  new Promise<void>((resolve) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
  });

/** Applies the changes of a fragment; returns whether anything changed. */
function applyChanges(news: Document): boolean {
  const main = document.getElementById('main');
  const next = news.getElementById('main')?.dataset.live;
  if (!main) return false;
  if (next === undefined) delete main.dataset.live;
  else main.dataset.live = next;
  const applied = [...news.querySelectorAll<HTMLElement>('[data-key]')].filter(applyElement);
  const scale = news.querySelector('[data-scale]')?.className;
  const chart = document.querySelector('[data-scale]');
  if (scale && chart) chart.className = scale;
  const message = news.getElementById('news')?.textContent?.trim();
  const status = document.getElementById('news');
  if (message && status) status.textContent = message;
  if (applied.length > 0) void updateInboxCount();
  return applied.length > 0;
}

/** Replaces the element that has the same key, or adds the element to its list. */
function applyElement(fresh: HTMLElement): boolean {
  const { key = '', rev } = fresh.dataset;
  const old = document.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
  if (old && rev !== undefined && rev === old.dataset.rev) return false;
  if (!old && 'known' in fresh.dataset) return false;
  // A form that the user is filling in stays.
  if (old?.querySelector('input:not([type="checkbox"]):focus, textarea:focus, select:focus')) return false;
  // A lazily loaded part stays visible until its new content has arrived.
  if (old && fresh.dataset.load !== undefined) {
    Object.assign(old.dataset, { rev, load: fresh.dataset.load });
    loadParts(document);
    return true;
  }
  const list = fresh.parentElement?.dataset.list;
  const target = list === undefined ? null : document.querySelector<HTMLElement>(`[data-list="${CSS.escape(list)}"]`);
  const node = document.importNode(fresh, true);
  updateTimes(node);
  if (old) {
    const focus = focusedIndex(old);
    const box = keepSelections(old, node);
    old.replaceWith(node);
    updateCounts(node);
    (box ?? node.querySelectorAll<HTMLElement>('a, button, summary')[focus])?.focus();
  } else if (target?.dataset.new === 'first') target.prepend(node);
  else target?.append(node);
  if ('last' in node.dataset) node.parentElement?.append(node);
  if (node.isConnected && fresh.dataset.quiet === undefined) node.classList.add('fresh');
  loadParts(node);
  return node.isConnected;
}

function focusedIndex(element: HTMLElement): number {
  const focused: Element | null = document.activeElement;
  return focused ? [...element.querySelectorAll('a, button, summary')].indexOf(focused) : -1;
}
