import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache/waitstate');
const DAY_MS = 86_400_000;

export interface CachedFolder {
  readonly name: string;
  /** Patterns of all files that its content depends on. */
  readonly sources: readonly string[];
  /** Writes the content into an empty folder. */
  make(folder: string): Promise<void> | void;
}

/** A folder that takes long to make, such as a bundle. It is kept between test runs until one of its sources changes. */
export async function cachedFolder({ name, sources, make }: CachedFolder): Promise<string> {
  const all = join(CACHE, name);
  const folder = join(all, hashOf(['package-lock.json', ...sources]));
  if (existsSync(folder)) return folder;
  mkdirSync(all, { recursive: true });
  removeOld(all);
  // Another test process may do the same at the same time, so a folder gets its name when it is complete.
  const unfinished = mkdtempSync(`${folder}-`);
  await make(unfinished);
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(unfinished, { recursive: true });
  }
  return folder;
}

function hashOf(patterns: readonly string[]): string {
  const hash = createHash('sha256').update(process.version);
  for (const file of globSync(patterns, { cwd: ROOT }).toSorted())
    hash.update(`${file}\n`).update(readFileSync(join(ROOT, file)));
  return hash.digest('hex').slice(0, 16);
}

function removeOld(all: string): void {
  for (const folder of readdirSync(all).map((name) => join(all, name)))
    if (statSync(folder).mtimeMs < Date.now() - DAY_MS) rmSync(folder, { recursive: true, force: true });
}
