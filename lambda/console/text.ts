import { type Html, type HtmlValue, html } from './markup.ts';

// What cannot be seen, or changes how what is around it is seen: controls, marks of direction, fillers, halves of
// characters, and marks that pile up on one letter. Joiners stay behind what joins: emoji, and the scripts that need them.
const HIDDEN =
  /(?![\t\n]|\r\n)\p{Cc}|(?![\u{FE00}-\u{FE0F}\u200C\u200D])\p{DI}|(?<![^\p{ASCII}])[\u200C\u200D]|[\p{Cs}\p{Zl}\p{Zp}\uFFF9-\uFFFB]|(?<=\p{M}{4})\p{M}/gu;

const numberOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Text in which nothing hides: what cannot be seen is shown by its number. */
export function revealHidden(text: string): readonly HtmlValue[] {
  const parts: HtmlValue[] = [];
  let last = 0;
  for (const { 0: character, index } of text.matchAll(HIDDEN)) {
    parts.push(text.slice(last, index), html`<span class="hidden-character">${numberOf(character)}</span>`);
    last = index + character.length;
  }
  parts.push(text.slice(last));
  return parts;
}

/** Text that somebody stored, within a line of ours; its direction stays its own. */
export const userText = (stored: string): Html => html`<bdi>${revealHidden(stored)}</bdi>`;

/** The same where no markup can be: in attributes and titles of pages. */
export const plainText = (stored: string): string => stored.replace(HIDDEN, (character) => `[${numberOf(character)}]`);

/** JSON in which nothing hides, and which still means the same. */
export const escapeHiddenJson = (json: string): string =>
  json.replace(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, i) => character.charCodeAt(i))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  );
