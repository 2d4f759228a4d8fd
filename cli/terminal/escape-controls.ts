// Characters that can move the cursor, change colors, ring, rename the window or reverse the direction of text: C0 and C1
// control characters, line separators, direction marks, invisible tags, and lone surrogates.
const UNSAFE =
  /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Escapes characters that could control a terminal. Uses JSON's escapes, so escaped JSON still has the same value. */
export const escapeControls = (text: string): string =>
  text.replace(UNSAFE, (unsafe) => SHORT_ESCAPES[unsafe] ?? unicodeEscapes(unsafe));

const unicodeEscapes = (text: string): string =>
  Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');

/** Whether text can be shown without escaping. */
export const hasNoControls = (text: string): boolean => text.search(UNSAFE) < 0;
