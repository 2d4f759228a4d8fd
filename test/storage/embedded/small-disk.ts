import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly folder: string;
  makeReadOnly(): void;
  remove(): void;
}

/** A disk of 2 MB in memory, or undefined where this process may not mount one (only root on Linux may). */
export function smallDisk(): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'waitstate-disk-'));
  const mount = (...args: string[]) => execFileSync('mount', [...args, folder], { stdio: 'ignore' });
  try {
    mount('-t', 'tmpfs', '-o', 'size=2m', 'tmpfs');
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  return {
    folder,
    makeReadOnly: () => mount('-o', 'remount,ro'),
    remove() {
      execFileSync('umount', ['-l', folder]);
      rmSync(folder, { recursive: true });
    },
  };
}
