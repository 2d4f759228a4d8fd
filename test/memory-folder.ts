import { mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const NEEDED_BYTES = 1024 ** 3;

/**
 * A new folder in memory, or on disk if too little memory is free, as in a small container. It is for tests that are not
 * about disks, because a disk takes its time to confirm each write.
 */
export const memoryFolder = (): string => mkdtempSync(join(hasMemoryDisk() ? '/dev/shm' : tmpdir(), 'waitstate-'));

function hasMemoryDisk(): boolean {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    return bavail * bsize >= NEEDED_BYTES;
  } catch {
    return false;
  }
}
