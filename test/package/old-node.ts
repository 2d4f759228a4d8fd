import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isSupportedNode } from '../../cli/node-version.ts';

/** A Node that is too old for Waitstate. */
interface OldNode {
  readonly path: string;
  readonly version: string;
}

/** The first Node on the PATH that is too old for Waitstate; undefined when there is none. */
export function findOldNode(): OldNode | undefined {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'node');
    if (!existsSync(path)) continue;
    const version = execFileSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();
    if (!isSupportedNode(version)) return { path, version };
  }
  return undefined;
}
