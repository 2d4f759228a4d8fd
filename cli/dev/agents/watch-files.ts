import { createHash } from 'node:crypto';
import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';

/** Watches a changing set of files. */
export interface WatchedFiles {
  /** Watches exactly these files. */
  watch(files: ReadonlySet<string>): void;
  close(): void;
}

// Editors write a file in several steps.
const DEBOUNCE_MS = 100;

/**
 * Calls `onChange` with the files whose content changed, or that were created or deleted. Watches folders instead of
 * files, because editors replace a file with a new one.
 */
export function watchFiles(
  onChange: (files: ReadonlySet<string>) => void,
  onError: (folder: string, error: unknown) => void,
): WatchedFiles {
  const contents = new Map<string, string>();
  const watchers = new Map<string, FSWatcher>();
  const touched = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const compareContents = () => {
    const different = new Set([...touched].filter((file) => contents.has(file) && contents.get(file) !== digest(file)));
    touched.clear();
    for (const file of different) contents.set(file, digest(file));
    if (different.size > 0) onChange(different);
  };
  const schedule = (folder: string, name: string | null) => {
    for (const file of contents.keys())
      if (name === null ? dirname(file) === folder : file === join(folder, name)) touched.add(file);
    clearTimeout(timer);
    timer = setTimeout(compareContents, DEBOUNCE_MS);
  };
  const startWatching = (folder: string) => {
    try {
      const watcher = watch(folder, (_, name) => schedule(folder, name));
      watcher.on('error', (error) => onError(folder, error));
      watchers.set(folder, watcher);
    } catch (error) {
      onError(folder, error);
    }
  };
  const stopWatching = (folder: string) => {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };
  return {
    watch(files) {
      for (const file of contents.keys()) if (!files.has(file)) contents.delete(file);
      for (const file of files) if (!contents.has(file)) contents.set(file, digest(file));
      const folders = new Set([...files].map(dirname));
      for (const folder of watchers.keys()) if (!folders.has(folder)) stopWatching(folder);
      for (const folder of folders) if (!watchers.has(folder)) startWatching(folder);
    },
    close() {
      clearTimeout(timer);
      for (const folder of [...watchers.keys()]) stopWatching(folder);
    },
  };
}

/** The hash of a file; empty if the file does not exist. */
function digest(file: string): string {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('base64url');
  } catch {
    return '';
  }
}
