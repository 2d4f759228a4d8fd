import { html as escaping } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

/** Safe markup: written by this code, with everything else escaped. */
export type Html = HtmlEscapedString;

/** Values that can be interpolated. Documents cannot: an object with a field `isEscaped` would pass for markup. */
export type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[];

/** Builds markup; escapes every interpolated value that is not markup. */
export const html = (strings: TemplateStringsArray, ...parts: readonly HtmlValue[]): Html =>
  escaping(strings, ...parts) as Html;
