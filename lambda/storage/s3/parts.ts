const MIB = 1024 * 1024;
const PART_BYTES = 8 * MIB;
const MAX_COPY_BYTES = 1024 * MIB;

/**
 * The size of the nth part of an upload: 8 MiB for the first thousand, then growing, so that 10,000 parts hold 5 TiB.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
 */
export const partBytes = (partNumber: number): number => PART_BYTES + Math.max(0, partNumber - 1_000) * 136 * 1024;

/** Splits bytes into parts of the right size, the last one smaller; empty content has no parts. */
export async function* splitIntoParts(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let buffered: Uint8Array[] = [];
  let remainingBytes = partBytes(1);
  let partNumber = 1;
  for await (let chunk of chunks) {
    while (chunk.length > 0) {
      const slice = chunk.subarray(0, remainingBytes);
      buffered.push(slice);
      chunk = chunk.subarray(slice.length);
      remainingBytes -= slice.length;
      if (remainingBytes > 0) continue;
      yield concatChunks(buffered);
      buffered = [];
      remainingBytes = partBytes(++partNumber);
    }
  }
  if (buffered.length > 0) yield concatChunks(buffered);
}

/** The byte ranges for copying an object that is too large for a single request. */
export function* copyRanges(size: number): Generator<string> {
  for (let start = 0; start < size; start += MAX_COPY_BYTES) {
    yield `bytes=${start}-${Math.min(size, start + MAX_COPY_BYTES) - 1}`;
  }
}

const concatChunks = ([first = new Uint8Array(), ...more]: Uint8Array[]): Uint8Array =>
  more.length === 0 ? first : Buffer.concat([first, ...more]);
