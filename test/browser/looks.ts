import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** What axe-core finds wrong with a page for those who cannot see it, use no mouse, or see badly; each with where. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(`${AXE};0`);
  const violations: Violation[] = await page.evaluate('axe.run().then(({ violations }) => violations)');
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 200)} ${failureSummary ?? ''}`),
  );
}

/** What sticks out of a page to the side, so that it must be scrolled there to be read. */
export const sticksOut = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const isOut = (element) => element.getBoundingClientRect().left + element.scrollWidth > width + 1;
    const out = [...document.querySelectorAll('body *')].filter(isOut);
    return ['The page is ' + document.documentElement.scrollWidth + ' wide in a window of ' + width,
      ...out.slice(0, 5).map((element) => element.outerHTML.slice(0, 150))];
  })()`);
