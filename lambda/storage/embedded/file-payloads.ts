import { constants } from 'node:fs';
import { copyFile, type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { unescapeId } from '../../core/ids.ts';
import type { PayloadStore } from '../ports.ts';
import { undefinedIfMissing, withStorageErrors } from './errors.ts';
import { syncFolder } from './folders.ts';
import * as partitions from './partition-folder.ts';

const PAYLOAD_SUFFIX = '.bin';
const CHUNK_BYTES = 256 * 1024;

interface PayloadKey {
  readonly partition: string;
  readonly id: string;
}

/** A payload store with one folder per partition, created by the first put; several processes can share it. */
export function filePayloadStore(options: { readonly folder: string; readonly clock: () => number }): PayloadStore {
  const root = join(resolve(options.folder), 'payloads');
  const folderOf = (partition: string) => join(root, partitions.folderName(partition));
  const pathOf = ({ partition, id }: PayloadKey) =>
    join(folderOf(partition), `${encodeURIComponent(id)}${PAYLOAD_SUFFIX}`);
  const withDiskErrors: WithDiskErrors = (run) => withStorageErrors(resolve(options.folder), run);

  /** Writes a file under a temporary name and renames it once it is durable. */
  async function writeAtomically(
    name: PayloadKey,
    fill: (file: FileHandle, path: string) => Promise<void>,
  ): Promise<void> {
    const folder = folderOf(name.partition);
    const temp = await withDiskErrors(() => partitions.openTemp(folder));
    try {
      try {
        await withDiskErrors(() => partitions.ensurePartitionName(folder, name.partition));
        await fill(temp.file, temp.path);
        const seconds = options.clock() / 1000;
        await withDiskErrors(() => temp.file.utimes(seconds, seconds));
        await withDiskErrors(() => temp.file.sync());
      } finally {
        await temp.file.close();
      }
      await withDiskErrors(() => rename(temp.path, pathOf(name)));
      await withDiskErrors(() => syncFolder(folder));
    } catch (error) {
      // The original error matters more than one of the cleanup; stale files are removed later.
      await rm(temp.path, { force: true }).catch(() => {});
      await partitions.removeIfEmpty(folder).catch(() => {});
      throw error;
    }
  }

  async function* payloadsIn(folder: string, partition: string) {
    const names = await withDiskErrors(() => partitions.sweepAndListFiles(folder));
    for (const name of names.filter((file) => file.endsWith(PAYLOAD_SUFFIX))) {
      const found = await withDiskErrors(() => undefinedIfMissing(stat(join(folder, name))));
      const id = unescapeId(name.slice(0, -PAYLOAD_SUFFIX.length));
      if (found) yield { partition, id, size: found.size, writtenAt: Math.round(found.mtimeMs) };
    }
  }

  return {
    put: (partition, id, content) =>
      writeAtomically({ partition, id }, async (file) => {
        if (content instanceof Uint8Array) return withDiskErrors(() => file.writeFile(content));
        // Only disk errors are converted; an error of the stream belongs to the caller.
        for await (const chunk of content) await withDiskErrors(() => file.writeFile(chunk));
      }),
    async open(partition, id) {
      const file = await withDiskErrors(() => undefinedIfMissing(open(pathOf({ partition, id }))));
      return file && withDiskErrors(() => readChunks(file, withDiskErrors));
    },
    async copy(from, to) {
      const source = pathOf(from);
      if (!(await withDiskErrors(() => undefinedIfMissing(stat(source))))) return false;
      // Clones the file where the file system supports it, else copies it. A hard link would share its modification
      // time.
      const fill = (_: FileHandle, path: string) => copyFile(source, path, constants.COPYFILE_FICLONE);
      const copied = await withDiskErrors(() => undefinedIfMissing(writeAtomically(to, fill).then(() => true)));
      return copied ?? false;
    },
    async *list(scope, after) {
      if (scope?.includes('/')) return yield* payloadsIn(folderOf(scope), scope);
      const entries = await withDiskErrors(() => undefinedIfMissing(readdir(root, { withFileTypes: true })));
      const start = after === undefined ? '' : partitions.folderName(after);
      // In order of the folder names, so that a listing can resume behind one of them.
      for (const entry of (entries ?? []).sort((a, b) => (a.name < b.name ? -1 : 1))) {
        if (!entry.isDirectory() || entry.name <= start) continue;
        const folder = join(root, entry.name);
        const partition = await withDiskErrors(() => partitions.readPartitionName(folder));
        if (partition === undefined) await withDiskErrors(() => partitions.sweepAndListFiles(folder));
        else if (scope === undefined || partition.startsWith(`${scope}/`)) yield* payloadsIn(folder, partition);
      }
    },
    async remove(partition, ids) {
      const folder = folderOf(partition);
      await withDiskErrors(async () => {
        await Promise.all(ids.map((id) => rm(pathOf({ partition, id }), { force: true })));
        await undefinedIfMissing(syncFolder(folder));
        await partitions.removeIfEmpty(folder);
      });
    },
    async close() {},
  };
}

type WithDiskErrors = <T>(run: () => Promise<T>) => Promise<T>;

/** The content of a file, which is closed after the last chunk. A file of a single chunk is read immediately. */
async function readChunks(file: FileHandle, withDiskErrors: WithDiskErrors): Promise<AsyncIterable<Uint8Array>> {
  let large = false;
  try {
    const { size } = await file.stat();
    large = size > CHUNK_BYTES;
    return large ? streamChunks(file, size, withDiskErrors) : singleChunk(await file.readFile());
  } finally {
    if (!large) await file.close();
  }
}

async function* singleChunk(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  if (chunk.length > 0) yield chunk;
}

async function* streamChunks(
  file: FileHandle,
  size: number,
  withDiskErrors: WithDiskErrors,
): AsyncGenerator<Uint8Array> {
  try {
    for (let offset = 0; offset < size; ) {
      const chunk = new Uint8Array(Math.min(CHUNK_BYTES, size - offset));
      const { bytesRead } = await withDiskErrors(() => file.read(chunk, 0, chunk.length, offset));
      if (bytesRead === 0) return;
      offset += bytesRead;
      yield chunk.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
