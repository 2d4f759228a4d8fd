import { appendPointer } from '../../operator/truncated-document.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';

/** How a document is shown on a page. */
export interface ShowOptions {
  /** Where the bytes of a payload of the document are; without, only what is known of it is shown. */
  readonly payloadUrl?: (id: string) => string;
  /** Where the rest of a part is that does not fit this page. */
  readonly partUrl?: (pointer: string, from: number) => string;
}

/** Where in a document something is: a JSON pointer, how many levels down, and what of it was left out before it. */
export interface DocumentPosition {
  readonly pointer: string;
  readonly level: number;
  /** Items or characters that are on an earlier piece. */
  readonly from: number;
}

export const ROOT_POSITION: DocumentPosition = { pointer: '', level: 0, from: 0 };

/** The place of a part. */
export const childPosition = (
  { pointer, level }: DocumentPosition,
  ...keys: readonly (string | number)[]
): DocumentPosition => ({
  pointer: keys.reduce<string>(appendPointer, pointer),
  level: level + 1,
  from: 0,
});

/** What is on the page, but not in sight at first. */
export const collapsed = (label: HtmlValue, content: HtmlValue): Html =>
  html`<details class="rest"><summary>${label}</summary>${content}</details>`;

/** What is not on the page, and where it is. */
export function moreLink(
  { partUrl: pieceUrl }: ShowOptions,
  { pointer }: DocumentPosition,
  from: number,
  what: string,
): Html {
  if (!pieceUrl) return html`<p class="more quiet">${what} more are not on this page.</p>`;
  return html`<p class="more"><a href="${pieceUrl(pointer, from)}" data-more>Show more</a> <span class="quiet">${what} left</span></p>`;
}

/** A number of things, with its word. */
export const pluralize = (amount: number, one: string, many = `${one}s`): string =>
  `${amount.toLocaleString('en')} ${amount === 1 ? one : many}`;
