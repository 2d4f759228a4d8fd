import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** The accessibility violations that axe-core finds on a page, with their elements. */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  await page.evaluate(`${axe.source};0`);
  const violations: Violation[] = await page.evaluate('axe.run().then(({ violations }) => violations)');
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 200)} ${failureSummary ?? ''}`),
  );
}

/** The elements that overflow a page sideways, or are cut off. */
export const overflowingElements = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const width = document.documentElement.clientWidth;
    const all = [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility());
    const isOut = (element) => element.getBoundingClientRect().left + element.scrollWidth > width + 1;
    const isCut = (element) => {
      const { overflowX, clipPath } = getComputedStyle(element);
      return ['hidden', 'clip'].includes(overflowX) && clipPath === 'none' && element.scrollWidth > element.clientWidth + 1;
    };
    const out = document.documentElement.scrollWidth > width ? all.filter(isOut) : [];
    const named = (what, elements) => elements.slice(0, 5).map((element) => what + ': ' + element.outerHTML.slice(0, 150));
    return [...named('wider than ' + width, out), ...named('cut off', all.filter(isCut))];
  })()`);
