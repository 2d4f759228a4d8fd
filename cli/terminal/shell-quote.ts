import { hasNoControls } from './escape-controls.ts';

/** A word as a shell takes it, so that a command that is shown can be copied. */
export function shellQuote(word: string): string {
  if (/^[\w@%+=:,./-][\w@%+=:,./~-]*$/.test(word)) return word;
  if (hasNoControls(word)) return `'${word.replaceAll("'", `'\\''`)}'`;
  // What cannot be shown as it is: bash, zsh and ksh read it this way.
  const bytes = [...Buffer.from(word)].map((byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x27 && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, '0')}`,
  );
  return `$'${bytes.join('')}'`;
}
