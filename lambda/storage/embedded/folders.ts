import { mkdir, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Creates a folder and its parents durably, accessible only to the owner. */
export async function makeFolder(folder: string): Promise<void> {
  const firstCreated = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (firstCreated === undefined) return;
  const shortest = resolve(firstCreated).length;
  for (let created = resolve(folder); created.length >= shortest; created = dirname(created))
    await syncFolder(dirname(created));
}

/** Makes the entries of a folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open or sync a folder; NTFS journals its entries.
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
