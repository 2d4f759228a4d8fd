import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

// Whoever prints without an end must not fill this process.
const LONGEST = 4_000;

/** Hears a stream line by line; a line that is too long comes in pieces. */
export function readLines(stream: Readable, hear: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  const take = (text: string) => {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop() ?? '';
    for (const line of lines) hear(line);
    for (; rest.length > LONGEST; rest = rest.slice(LONGEST)) hear(rest.slice(0, LONGEST));
  };
  stream.on('data', (bytes: Buffer) => take(decoder.write(bytes)));
  stream.on('end', () => {
    take(decoder.end());
    if (rest !== '') hear(rest);
  });
}
