import { fetchPage } from './fetch-page.ts';

const INTERVAL_MS = 60_000;
const MIN_INTERVAL_MS = 5000;
let lastAt = -Infinity;

/** Keeps the number of pending approvals beside the link to the inbox up to date, never in a hidden tab. */
export function keepInboxCount(): void {
  void updateInboxCount();
  setInterval(() => void updateInboxCount(), INTERVAL_MS);
}

/** Counts again, but not more often than every few seconds. */
export async function updateInboxCount(): Promise<void> {
  const badge = document.getElementById('inbox-count');
  const { url } = badge?.dataset ?? {};
  if (!badge || url === undefined || document.hidden || performance.now() - lastAt < MIN_INTERVAL_MS) return;
  lastAt = performance.now();
  // A badge is optional: without a response, it shows what it showed.
  const page = await fetchPage(url).catch(() => undefined);
  const fresh = page?.getElementById('inbox-count');
  if (fresh) badge.replaceChildren(...[...fresh.childNodes].map((node) => document.importNode(node, true)));
}
