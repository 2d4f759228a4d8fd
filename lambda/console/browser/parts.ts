import { fetchPage } from './fetch-page.ts';
import { updateTimes } from './times.ts';

const OBSERVER_OPTIONS = { rootMargin: '400px' };

/** The latest requested URL of each part; responses for an older URL are dropped. */
const requestedUrls = new WeakMap<HTMLElement, string>();

const loadedParts = new WeakSet<HTMLElement>();

/** Loads parts of a page when they scroll into view, and the rest of long documents on demand. */
export function loadParts(within: ParentNode): void {
  for (const part of within.querySelectorAll<HTMLElement>('[data-load]')) {
    const url = part.dataset.load ?? '';
    delete part.dataset.load;
    requestedUrls.set(part, url);
    // The user may still be reading a part that was visible before, so it is updated at once.
    if (loadedParts.has(part)) {
      void loadPart(part, url);
      continue;
    }
    const observer = new IntersectionObserver((seen) => {
      if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      if (requestedUrls.get(part) === url) void loadPart(part, url);
    }, OBSERVER_OPTIONS);
    observer.observe(part);
  }
  for (const link of within.querySelectorAll<HTMLAnchorElement>('a[data-more]')) {
    link.addEventListener('click', (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      void loadMore(link);
    });
  }
}

async function loadPart(part: HTMLElement, url: string): Promise<void> {
  part.setAttribute('aria-busy', 'true');
  // If the request fails, the link to the page stays.
  const page = await fetchPage(url).catch(() => undefined);
  if (requestedUrls.get(part) !== url) return;
  part.removeAttribute('aria-busy');
  const found = page?.getElementById(part.id);
  if (!found) return;
  replaceContent(part, found);
  loadedParts.add(part);
}

async function loadMore(link: HTMLAnchorElement): Promise<void> {
  const container = link.closest<HTMLElement>('.more');
  const part = (await fetchPage(link.href).catch(() => undefined))?.getElementById('document-part');
  if (!part || !container) {
    location.assign(link.href);
    return;
  }
  const box = document.createElement('div');
  box.tabIndex = -1;
  replaceContent(box, part);
  container.replaceWith(box);
  box.focus({ preventScroll: true });
}

function replaceContent(target: HTMLElement, source: HTMLElement): void {
  target.replaceChildren(...[...source.childNodes].map((node) => document.importNode(node, true)));
  updateTimes(target);
  loadParts(target);
}
