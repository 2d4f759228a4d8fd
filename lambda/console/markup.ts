import { html as escaping } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

/** Markup that this code wrote; whatever else is in it was escaped. */
export type Html = HtmlEscapedString;

/** What may stand in markup. Documents may not: an object with a field `isEscaped` would pass for markup. */
export type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[];

/** Markup in which everything that is put in is escaped, unless it is markup itself. */
export const html = (strings: TemplateStringsArray, ...parts: readonly HtmlValue[]): Html =>
  escaping(strings, ...parts) as Html;
