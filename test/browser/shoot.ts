import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

const FOLDER = fileURLToPath(new URL('../../docs/images', import.meta.url));
const WIDTHS = { operator: 1280, phone: 360 };

// Screenshots always show the same date, so that they change only when pages do.
const SAME_DAY = `(() => {
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
  for (const time of document.querySelectorAll('time[data-at]')) {
    const moment = Date.UTC(2026, 10, 17, 9, 30) + Date.parse(time.dateTime) - Date.now();
    time.textContent = format.format(Math.round(moment / 300_000) * 300_000);
  }
})()`;

// Hides the host name, and scrolls editors to the top.
const SAME_MACHINE = `for (const fact of document.querySelectorAll('dd bdi')) {
  if (fact.textContent.startsWith('${hostname()}/')) fact.textContent = 'laptop/4711';
}
for (const editor of document.querySelectorAll('textarea')) editor.scrollTop = 0;`;

/**
 * Takes screenshots of a page for the docs if UPDATE_SCREENSHOTS is set: NAME.png and NAME-phone.png, cut at the given
 * heights.
 */
export async function shoot(
  page: Page,
  name: string,
  heights: { readonly operator?: number; readonly phone?: number },
): Promise<void> {
  if (!process.env.UPDATE_SCREENSHOTS) return;
  const before = page.viewportSize();
  await page.emulateMedia({ reducedMotion: 'reduce' });
  for (const size of ['operator', 'phone'] as const) {
    const maxHeight = heights[size];
    if (maxHeight === undefined) continue;
    const width = WIDTHS[size];
    await page.setViewportSize({ width, height: 200 });
    await page.evaluate(`document.activeElement?.blur(); window.scrollTo(0, 0); ${SAME_DAY}; ${SAME_MACHINE}`);
    const height: number = await page.evaluate('document.documentElement.scrollHeight');
    await page.screenshot({
      path: `${FOLDER}/${name}${size === 'phone' ? '-phone' : ''}.png`,
      animations: 'disabled',
      fullPage: true,
      clip: { x: 0, y: 0, width, height: Math.min(height, maxHeight) },
    });
  }
  if (before) await page.setViewportSize(before);
}
