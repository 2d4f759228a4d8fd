import { mkdir, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Makes a folder with all above it, durably and for its owner only. */
export async function makeFolder(folder: string): Promise<void> {
  const firstCreated = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (firstCreated === undefined) return;
  const shortest = resolve(firstCreated).length;
  for (let created = resolve(folder); created.length >= shortest; created = dirname(created))
    await syncFolder(dirname(created));
}

/** Makes durable which names a folder has. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows can neither open nor sync a folder; NTFS journals names by itself.
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
