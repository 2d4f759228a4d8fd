import { appendPointer } from '../../operator/truncated-document.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';

/** How a document is rendered on a page. */
export interface ShowOptions {
  /** The URL of a payload. @default payloads are described, not linked */
  readonly payloadUrl?: (id: string) => string;
  /** The URL of the rest of a part that does not fit the page. @default the rest is not linked */
  readonly partUrl?: (pointer: string, from: number) => string;
}

/** A position in a document: a JSON pointer, its depth, and how much was left out before it. */
export interface DocumentPosition {
  readonly pointer: string;
  readonly level: number;
  /** The number of items or characters on earlier pages. */
  readonly from: number;
}

/** The position of a whole document. */
export const ROOT_POSITION: DocumentPosition = { pointer: '', level: 0, from: 0 };

/** The position of a part. */
export const childPosition = (
  { pointer, level }: DocumentPosition,
  ...keys: readonly (string | number)[]
): DocumentPosition => ({
  pointer: keys.reduce<string>(appendPointer, pointer),
  level: level + 1,
  from: 0,
});

/** Collapsed content with a label. */
export const collapsed = (label: HtmlValue, content: HtmlValue): Html =>
  html`<details class="rest"><summary>${label}</summary>${content}</details>`;

/** A link to content that is not on the page. */
export function moreLink({ partUrl }: ShowOptions, { pointer }: DocumentPosition, from: number, what: string): Html {
  if (!partUrl) return html`<p class="more quiet">${what} not shown on this page.</p>`;
  return html`<p class="more"><a href="${partUrl(pointer, from)}" data-more>Show more</a> <span class="quiet">${what} left</span></p>`;
}

/** A number with its noun in singular or plural. */
export const pluralize = (amount: number, one: string, many = `${one}s`): string =>
  `${amount.toLocaleString('en')} ${amount === 1 ? one : many}`;
