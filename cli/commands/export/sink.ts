import { createHash, randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { WaitstateError } from '../../../lambda/core/errors.ts';
import type { Terminal } from '../../terminal/terminal.ts';

/** The size and the hash of an export. */
export interface WrittenExport {
  readonly lines: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** Where an export goes. */
export interface Sink {
  write(line: string): Promise<void>;
  /** Completes the export. */
  end(): Promise<WrittenExport>;
  /** Discards the export. */
  abandon(): Promise<void>;
}

/** Writes an export to standard output. */
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

/** Writes an export to a file that gets its name only when it is complete and synced, readable by its owner only. */
export async function fileSink(file: string): Promise<Sink> {
  // An unpredictable name: in a shared folder, others could have placed a file or a link there.
  const partial = `${file}.${randomUUID()}.partial`;
  const handle = await withWriteErrors(file, () => open(partial, 'wx', 0o600));
  const counter = createCounter();
  return {
    async write(line) {
      counter.add(line);
      // Not `write`: on a nearly full disk it writes a part without an error.
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
