import { randomBytes } from 'node:crypto';

const ALPHABET = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'];

/** Variants of a token: cut, extended, in another case, encoded, and others that decode to the same bytes. */
export function tamperedTokens(token: string): readonly string[] {
  const encoded = (from: number, to: number) =>
    [...token].map((c, i) => (i >= from && i < to ? `%${c.charCodeAt(0).toString(16)}` : c)).join('');
  return [
    // 43 characters have two more bits than 32 bytes, so four variants decode to the same bytes.
    ...ALPHABET.map((last) => token.slice(0, -1) + last),
    ...[token.slice(1), token.slice(0, -1), token.slice(0, 8), token + token, [...token].toReversed().join('')],
    ...['=', 'A', '%00', '%20', '%0A', '.json', ';a=b', ',', '~', '%'].map((more) => token + more),
    ...['A', '%00', '%20', '~', '.', '-'].map((more) => more + token),
    ...[token.toLowerCase(), token.toUpperCase(), `${token.replaceAll('-', '+')}+`, encoded(0, 1), encoded(0, 43)],
    ...['x', '-', '_', '%ff', '%', '~', '__proto__', 'constructor', '%40token%2Fx', 'A'.repeat(43), 'a'.repeat(2_000)],
    ...Array.from({ length: 10 }, () => randomBytes(32).toString('base64url')),
  ].filter((changed) => changed !== token);
}
