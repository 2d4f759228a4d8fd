import type { Page } from 'playwright-core';
import { HOOK } from './watched.ts';

/** A text that tries to become markup, an attribute, a script or a template; if one succeeds, it calls the hook. */
export const hostile = (field: string): string =>
  `${field} </script></title></textarea><svg/onload=${HOOK}('${field}')>"'><img src=x onerror=${HOOK}('${field}')>{{${HOOK}('${field}')}}\${${HOOK}('${field}')}`;

/** A short variant for ids. */
export const hostileId = (field: string): string => `${field}"><img src=x onerror=${HOOK}('${field}')>`;

/** A URL that executes if a page links it. */
export const hostileUrl = (field: string): string =>
  `javascript:${HOOK}('${field.replaceAll(' ', '-')}')//https://example.com`;

/** A document with scripts, for payloads. */
export const hostileHtml = (field: string): string =>
  `<!doctype html><title>x</title><body onload="parent.${HOOK}?.('${field}')"><script>${HOOK}('${field}')</script>`;

/** An image with scripts. */
export const hostileSvg = (field: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="${HOOK}('${field}')"><script>${HOOK}('${field}')</script></svg>`;

/** Markup on a page that only stored text can have created, whether it ran or not. */
export const planted = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('*')].filter((element) =>
    [...element.attributes].some(({ name, value }) => /^on/i.test(name) || name === 'srcdoc' ||
      (/^(href|src|action|formaction|data|xlink:href)$/i.test(name) && /^\\s*(javascript|vbscript|data:text)/i.test(value)))
    || element.matches('img[src=x], script:not([src]):not([type="application/json"])')).map((element) => element.outerHTML.slice(0, 200))`);
