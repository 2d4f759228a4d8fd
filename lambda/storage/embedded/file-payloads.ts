import { constants } from 'node:fs';
import { copyFile, type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { unescapeId } from '../../core/ids.ts';
import type { PayloadStore } from '../ports.ts';
import { undefinedIfMissing, withStorageErrors } from './errors.ts';
import { syncFolder } from './folders.ts';
import * as partitions from './partition-folder.ts';

const SUFFIX = '.bin';
const PIECE_BYTES = 256 * 1024;

interface PayloadName {
  readonly partition: string;
  readonly id: string;
}

/** Payloads as files, in one folder for each partition; several processes may share them. Made by the first put. */
export function filePayloadStore(options: { readonly folder: string; readonly clock: () => number }): PayloadStore {
  const root = join(resolve(options.folder), 'payloads');
  const folderOf = (partition: string) => join(root, partitions.folderName(partition));
  const pathOf = ({ partition, id }: PayloadName) => join(folderOf(partition), `${encodeURIComponent(id)}${SUFFIX}`);
  const onDisk: OnDisk = (run) => withStorageErrors(resolve(options.folder), run);

  /** Fills a file under a temporary name and gives it its own when all of it is durable. */
  async function place(name: PayloadName, fill: (file: FileHandle, path: string) => Promise<void>): Promise<void> {
    const folder = folderOf(name.partition);
    const temp = await onDisk(() => partitions.openTemp(folder));
    try {
      try {
        await onDisk(() => partitions.ensurePartitionName(folder, name.partition));
        await fill(temp.file, temp.path);
        const seconds = options.clock() / 1000;
        await onDisk(() => temp.file.utimes(seconds, seconds));
        await onDisk(() => temp.file.sync());
      } finally {
        await temp.file.close();
      }
      await onDisk(() => rename(temp.path, pathOf(name)));
      await onDisk(() => syncFolder(folder));
    } catch (error) {
      // What cleaning up could say is worth less than the error itself; what it leaves is removed when it is old.
      await rm(temp.path, { force: true }).catch(() => {});
      await partitions.removeIfEmpty(folder).catch(() => {});
      throw error;
    }
  }

  async function* payloadsIn(folder: string, partition: string) {
    const names = await onDisk(() => partitions.sweepAndListFiles(folder));
    for (const name of names.filter((file) => file.endsWith(SUFFIX))) {
      const found = await onDisk(() => undefinedIfMissing(stat(join(folder, name))));
      const id = unescapeId(name.slice(0, -SUFFIX.length));
      if (found) yield { partition, id, size: found.size, writtenAt: Math.round(found.mtimeMs) };
    }
  }

  return {
    put: (partition, id, content) =>
      place({ partition, id }, async (file) => {
        if (content instanceof Uint8Array) return onDisk(() => file.writeFile(content));
        // Only what the disk says is translated: an error of the stream is the caller's own.
        for await (const piece of content) await onDisk(() => file.writeFile(piece));
      }),
    async open(partition, id) {
      const file = await onDisk(() => undefinedIfMissing(open(pathOf({ partition, id }))));
      return file && onDisk(() => piecesOf(file, onDisk));
    },
    async copy(from, to) {
      const source = pathOf(from);
      if (!(await onDisk(() => undefinedIfMissing(stat(source))))) return false;
      // A clone where the file system can, else a copy in the kernel; no hard link, which would share its time.
      const fill = (_: FileHandle, path: string) => copyFile(source, path, constants.COPYFILE_FICLONE);
      const copied = await onDisk(() => undefinedIfMissing(place(to, fill).then(() => true)));
      return copied ?? false;
    },
    async *list(scope) {
      if (scope?.includes('/')) return yield* payloadsIn(folderOf(scope), scope);
      for (const entry of (await onDisk(() => undefinedIfMissing(readdir(root, { withFileTypes: true })))) ?? []) {
        if (!entry.isDirectory()) continue;
        const folder = join(root, entry.name);
        const partition = await onDisk(() => partitions.readPartitionName(folder));
        if (partition === undefined) await onDisk(() => partitions.sweepAndListFiles(folder));
        else if (scope === undefined || partition.startsWith(`${scope}/`)) yield* payloadsIn(folder, partition);
      }
    },
    async remove(partition, ids) {
      const folder = folderOf(partition);
      await onDisk(async () => {
        await Promise.all(ids.map((id) => rm(pathOf({ partition, id }), { force: true })));
        await undefinedIfMissing(syncFolder(folder));
        await partitions.removeIfEmpty(folder);
      });
    },
    async close() {},
  };
}

type OnDisk = <T>(run: () => Promise<T>) => Promise<T>;

/** The content of a file, which is closed when all was read. What fits one piece is read here and now. */
async function piecesOf(file: FileHandle, onDisk: OnDisk): Promise<AsyncIterable<Uint8Array>> {
  let large = false;
  try {
    const { size } = await file.stat();
    large = size > PIECE_BYTES;
    return large ? readOn(file, size, onDisk) : only(await file.readFile());
  } finally {
    if (!large) await file.close();
  }
}

async function* only(piece: Uint8Array): AsyncGenerator<Uint8Array> {
  if (piece.length > 0) yield piece;
}

async function* readOn(file: FileHandle, size: number, onDisk: OnDisk): AsyncGenerator<Uint8Array> {
  try {
    for (let at = 0; at < size; ) {
      const piece = new Uint8Array(Math.min(PIECE_BYTES, size - at));
      const { bytesRead } = await onDisk(() => file.read(piece, 0, piece.length, at));
      if (bytesRead === 0) return;
      at += bytesRead;
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
