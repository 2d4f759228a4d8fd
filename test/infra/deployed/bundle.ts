import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The text of a bundled module and of all chunks that it may load. */
export function bundleText(folder: string, file: string, seen = new Set<string>()): string {
  if (seen.has(file)) return '';
  seen.add(file);
  const text = readFileSync(join(folder, file), 'utf8');
  const chunks = [...text.matchAll(/["']\.\/([\w.-]+\.mjs)["']/g)].map(([, chunk = '']) =>
    bundleText(folder, chunk, seen),
  );
  return [text, ...chunks].join('\n');
}
