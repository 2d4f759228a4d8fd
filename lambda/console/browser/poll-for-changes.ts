import { FetchError, fetchPage } from './fetch-page.ts';
import { loadParts } from './parts.ts';
import { updateTimes } from './times.ts';

const SHORTEST_MS = 2000;
const LONGEST_MS = 30_000;
const AFTER_FAILURE_MS = 4000;

/** Asks what changed for as long as the page says where; less and less often while nothing does, and never unseen. */
export async function pollForChanges(): Promise<void> {
  let pause = SHORTEST_MS;
  for (;;) {
    await Promise.race([passed(pause), seenAgain()]);
    if (document.hidden) await seenAgain();
    const url = document.getElementById('main')?.dataset.live;
    if (url === undefined) return;
    try {
      const news = await fetchPage(url);
      connected(true);
      pause = news && bringIn(news) ? SHORTEST_MS : Math.min(pause * 1.5, LONGEST_MS);
    } catch (error) {
      connected(false);
      if (error instanceof FetchError && error.isFinal) return;
      pause = Math.min(Math.max(pause, AFTER_FAILURE_MS) * 1.5, LONGEST_MS);
    }
  }
}

/** Says that what is on the page may be old, until it is known again what changed. */
function connected(isSo: boolean): void {
  const there = document.getElementById('offline');
  if (isSo) there?.remove();
  if (isSo || there) return;
  const note = document.createElement('p');
  note.id = 'offline';
  note.setAttribute('role', 'status');
  document.body.append(note);
  note.textContent = 'Not connected: what you see may be old.';
}

const passed = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

const seenAgain = () =>
  new Promise<void>((resolve) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
  });

/** Says whether anything changed. */
function bringIn(news: Document): boolean {
  const main = document.getElementById('main');
  const next = news.getElementById('main')?.dataset.live;
  if (!main) return false;
  if (next === undefined) delete main.dataset.live;
  else main.dataset.live = next;
  const placed = [...news.querySelectorAll<HTMLElement>('[data-key]')].filter(place);
  const said = news.getElementById('news')?.textContent?.trim();
  const status = document.getElementById('news');
  if (said && status) status.textContent = said;
  return placed.length > 0;
}

/** Puts an element in the place of the one with its key, or into the list that it is in. */
function place(fresh: HTMLElement): boolean {
  const { key = '', rev } = fresh.dataset;
  const old = document.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
  if (old && rev !== undefined && rev === old.dataset.rev) return false;
  if (!old && 'known' in fresh.dataset) return false;
  // What somebody is filling in stays.
  if (old?.querySelector('input:focus, textarea:focus, select:focus')) return false;
  // A part that is loaded by itself stays in sight until what is new of it is there.
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
    const focus = focusIn(old);
    old.replaceWith(node);
    node.querySelectorAll<HTMLElement>('a, button, summary')[focus]?.focus();
  } else if (target?.dataset.new === 'first') target.prepend(node);
  else target?.append(node);
  if ('last' in node.dataset) node.parentElement?.append(node);
  if (node.isConnected && fresh.dataset.quiet === undefined) node.classList.add('fresh');
  loadParts(node);
  return node.isConnected;
}

function focusIn(element: HTMLElement): number {
  const focused: Element | null = document.activeElement;
  return focused ? [...element.querySelectorAll('a, button, summary')].indexOf(focused) : -1;
}
