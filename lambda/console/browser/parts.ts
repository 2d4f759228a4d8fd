import { fetchPage } from './fetch-page.ts';
import { updateTimes } from './times.ts';

const AHEAD = { rootMargin: '400px' };

/** What each part is to show: a part that is to be loaded anew waits no longer for what it was to show before. */
const wanted = new WeakMap<HTMLElement, string>();

const loaded = new WeakSet<HTMLElement>();

/** Loads parts of a page that are pages of their own when they come into sight, and more of long ones where they end. */
export function loadParts(within: ParentNode): void {
  for (const part of within.querySelectorAll<HTMLElement>('[data-load]')) {
    const url = part.dataset.load ?? '';
    delete part.dataset.load;
    wanted.set(part, url);
    // What was in sight once may be read again at any time: it is not to be old.
    if (loaded.has(part)) {
      void load(part, url);
      continue;
    }
    const observer = new IntersectionObserver((seen) => {
      if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      if (wanted.get(part) === url) void load(part, url);
    }, AHEAD);
    observer.observe(part);
  }
  for (const link of within.querySelectorAll<HTMLAnchorElement>('a[data-more]')) {
    link.addEventListener('click', (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      void more(link);
    });
  }
}

async function load(part: HTMLElement, url: string): Promise<void> {
  part.setAttribute('aria-busy', 'true');
  // Without an answer the link to the page stays.
  const page = await fetchPage(url).catch(() => undefined);
  if (wanted.get(part) !== url) return;
  part.removeAttribute('aria-busy');
  const found = page?.getElementById(part.id);
  if (!found) return;
  bring(part, found);
  loaded.add(part);
}

async function more(link: HTMLAnchorElement): Promise<void> {
  const place = link.closest<HTMLElement>('.more');
  const piece = (await fetchPage(link.href).catch(() => undefined))?.getElementById('piece');
  if (!piece || !place) {
    location.assign(link.href);
    return;
  }
  const box = document.createElement('div');
  box.tabIndex = -1;
  bring(box, piece);
  place.replaceWith(box);
  box.focus({ preventScroll: true });
}

function bring(place: HTMLElement, source: HTMLElement): void {
  place.replaceChildren(...[...source.childNodes].map((node) => document.importNode(node, true)));
  updateTimes(place);
  loadParts(place);
}
