import { type Html, type HtmlValue, html } from '../markup.ts';

/** Where a request is shown: alone on its page, or as one of several on a page. */
export interface RequestPlace {
  /** Makes the ids and keys of its elements unique on the page. */
  readonly suffix: string;
  /** The level of its headings. */
  readonly level: 2 | 3;
}

/** A request that has a page of its own. */
export const OWN_PAGE: RequestPlace = { suffix: '', level: 2 };

/** A section of a request: its id, and its style. */
interface SectionSpec {
  readonly id: string;
  readonly className: string;
  /** The content is up to date if this is unchanged. @default it never changes */
  readonly rev?: string;
}

/** A section of a request. On its own page it is a landmark; among other requests there would be too many of them. */
export function section(
  { suffix, level }: RequestPlace,
  { id: name, className, rev }: SectionSpec,
  title: HtmlValue,
  ...content: readonly HtmlValue[]
): Html {
  const id = `${name}${suffix}`;
  const live = rev !== undefined && html` data-key="${id}" data-rev="${rev}"`;
  return level === 2
    ? html`<section class="${className}" aria-labelledby="${id}"${live}><h2 id="${id}">${title}</h2>
${content}</section>`
    : html`<div class="${className}"${live}><h3>${title}</h3>
${content}</div>`;
}
