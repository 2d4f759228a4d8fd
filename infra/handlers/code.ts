import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Code } from 'aws-cdk-lib/aws-lambda';

// In the package they are built beside this; in the sources they are bundled when they are first needed.
const BUILT = fileURLToPath(new URL('../../functions', import.meta.url));
const BUILD = fileURLToPath(new URL('./build.ts', import.meta.url));

let folder: string | undefined;

/** The code of all handlers, bundled; a function's handler says which of them it is. */
export function handlerCode(): Code {
  folder ??= existsSync(BUILT) ? BUILT : bundled();
  return Code.fromAsset(folder);
}

function bundled(): string {
  const made = mkdtempSync(join(tmpdir(), 'holdpoint-functions-'));
  execFileSync(process.execPath, [BUILD, made], { stdio: ['ignore', 'inherit', 'inherit'] });
  return made;
}
