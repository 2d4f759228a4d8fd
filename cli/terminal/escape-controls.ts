// What moves the cursor, changes colours, rings, renames the window, or turns the direction of text: control characters
// of both sets, separators of lines, marks of direction, invisible tags, and halves of surrogate pairs.
const UNSAFE =
  /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Text that cannot steer a terminal: what could is shown as JSON would write it, so that JSON stays what it is. */
export const escapeControls = (text: string): string =>
  text.replace(UNSAFE, (unsafe) => SHORT_ESCAPES[unsafe] ?? unicodeEscapes(unsafe));

const unicodeEscapes = (text: string): string =>
  Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');

/** Whether text is shown as it is. */
export const hasNoControls = (text: string): boolean => text.search(UNSAFE) < 0;
