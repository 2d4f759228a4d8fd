import { hasNoControls } from './escape-controls.ts';

/** Quotes a word for a shell, so that users can copy the commands that are shown. */
export function shellQuote(word: string): string {
  if (/^[\w@%+=:,./-][\w@%+=:,./~-]*$/.test(word)) return word;
  if (hasNoControls(word)) return `'${word.replaceAll("'", `'\\''`)}'`;
  // Control characters: bash, zsh and ksh understand this form.
  const bytes = [...Buffer.from(word)].map((byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x27 && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, '0')}`,
  );
  return `$'${bytes.join('')}'`;
}
