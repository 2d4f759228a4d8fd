import { type Html, type HtmlValue, html } from './markup.ts';

// Invisible characters, and those that change how the text around them looks: control characters, direction marks,
// fillers, lone surrogates, and more than four combining marks on a letter. Joiners stay after non-ASCII characters, since
// emoji and some scripts need them.
const HIDDEN =
  /(?![\t\n]|\r\n)\p{Cc}|(?![\u{FE00}-\u{FE0F}\u200C\u200D])\p{DI}|(?<![^\p{ASCII}])[\u200C\u200D]|[\p{Cs}\p{Zl}\p{Zp}\uFFF9-\uFFFB]|(?<=\p{M}{4})\p{M}/gu;

const codePointLabel = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Text with each invisible character shown as its code point. */
export function revealHidden(text: string): readonly HtmlValue[] {
  const parts: HtmlValue[] = [];
  let last = 0;
  for (const { 0: character, index } of text.matchAll(HIDDEN)) {
    parts.push(text.slice(last, index), html`<span class="hidden-character">${codePointLabel(character)}</span>`);
    last = index + character.length;
  }
  parts.push(text.slice(last));
  return parts;
}

/** Text from users or agents inside a line; isolated, so that its direction does not affect the line. */
export const userText = (stored: string): Html => html`<bdi>${revealHidden(stored)}</bdi>`;

/** The same as plain text, for attributes and page titles. */
export const plainText = (stored: string): string =>
  stored.replace(HIDDEN, (character) => `[${codePointLabel(character)}]`);

/** Equivalent JSON with invisible characters escaped. */
export const escapeHiddenJson = (json: string): string =>
  json.replace(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, i) => character.charCodeAt(i))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  );
