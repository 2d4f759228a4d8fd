import { createHash, randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { WaitstateError } from '../../../lambda/core/errors.ts';
import type { Terminal } from '../../terminal/terminal.ts';

/** What was written altogether. */
export interface WrittenExport {
  readonly lines: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** Where an export goes. */
export interface Sink {
  write(line: string): Promise<void>;
  /** All of it is there. */
  end(): Promise<WrittenExport>;
  /** Nothing of it is to be there. */
  abandon(): Promise<void>;
}

/** Standard output. */
export function terminalSink({ write }: Terminal): Sink {
  const counter = createCounter();
  return {
    async write(line) {
      counter.add(line);
      await write(line);
    },
    end: async () => counter.sum(),
    abandon: async () => {},
  };
}

/** A file, which has its name only when it is whole and synced; for its owner alone, as states may be secret. */
export async function fileSink(file: string): Promise<Sink> {
  // A name that nobody knows beforehand: in a folder of others they could have put a file of theirs, or a link, there.
  const partial = `${file}.${randomUUID()}.partial`;
  const handle = await withWriteErrors(file, () => open(partial, 'wx', 0o600));
  const counter = createCounter();
  return {
    async write(line) {
      counter.add(line);
      // Not `write`: a disk that is nearly full takes a part, and that is no error.
      await withWriteErrors(file, () => handle.writeFile(line));
    },
    async end() {
      await withWriteErrors(file, async () => {
        await handle.sync();
        await handle.close();
        await rename(partial, file);
      });
      return counter.sum();
    },
    async abandon() {
      await handle.close().catch(() => {});
      await rm(partial, { force: true });
    },
  };
}

async function withWriteErrors<T>(file: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const isFull = code === 'ENOSPC' || code === 'EDQUOT';
    throw new WaitstateError(
      isFull ? 'STORAGE_FULL' : 'INVALID_INPUT',
      `The file ${file} cannot be written: ${message}.`,
      {
        cause,
      },
    );
  }
}

function createCounter() {
  const hash = createHash('sha256');
  let [lines, bytes] = [0, 0];
  return {
    add(line: string) {
      hash.update(line);
      lines += 1;
      bytes += Buffer.byteLength(line);
    },
    sum: (): WrittenExport => ({ lines, bytes, sha256: hash.digest('hex') }),
  };
}
