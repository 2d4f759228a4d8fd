const MIB = 1024 * 1024;
const PART_BYTES = 8 * MIB;
const COPY_BYTES = 1024 * MIB;

/**
 * How large the nth part of an upload is: 8 MiB for the first thousand, then growing, so that 10,000 parts hold 5 TiB.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
 */
export const partBytes = (n: number): number => PART_BYTES + Math.max(0, n - 1_000) * 136 * 1024;

/** The same bytes in parts of the right size, the last one smaller; nothing for no bytes. */
export async function* splitIntoParts(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let room = partBytes(1);
  let n = 1;
  for await (let piece of pieces) {
    while (piece.length > 0) {
      const taken = piece.subarray(0, room);
      held.push(taken);
      piece = piece.subarray(taken.length);
      room -= taken.length;
      if (room > 0) continue;
      yield joined(held);
      held = [];
      room = partBytes(++n);
    }
  }
  if (held.length > 0) yield joined(held);
}

/** The ranges, as S3 writes them, in which an object too large for one copy is copied. */
export function* copyRanges(size: number): Generator<string> {
  for (let start = 0; start < size; start += COPY_BYTES) {
    yield `bytes=${start}-${Math.min(size, start + COPY_BYTES) - 1}`;
  }
}

const joined = ([first = new Uint8Array(), ...more]: Uint8Array[]): Uint8Array =>
  more.length === 0 ? first : Buffer.concat([first, ...more]);
