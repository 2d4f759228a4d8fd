import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

// Output without line breaks must not fill the memory.
const MAX_LINE_LENGTH = 4_000;

/** Reads a stream line by line; a line that is too long is split. */
export function readLines(stream: Readable, onLine: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  const append = (text: string) => {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
    for (; rest.length > MAX_LINE_LENGTH; rest = rest.slice(MAX_LINE_LENGTH)) onLine(rest.slice(0, MAX_LINE_LENGTH));
  };
  stream.on('data', (bytes: Buffer) => append(decoder.write(bytes)));
  stream.on('end', () => {
    append(decoder.end());
    if (rest !== '') onLine(rest);
  });
}
