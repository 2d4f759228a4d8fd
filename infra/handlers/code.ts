import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Stack } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';

// In the package they are built beside this; in the sources they are bundled when they are first needed.
const BUILT = fileURLToPath(new URL('../../functions', import.meta.url));
const BUILD = fileURLToPath(new URL('./build.ts', import.meta.url));
const SOURCES = fileURLToPath(new URL('.', import.meta.url));

let folder: string | undefined;

/** The code of all handlers, bundled; a function's handler says which of them it is. */
export function handlerCode(scope: Construct): Code {
  if (existsSync(BUILT)) return Code.fromAsset(BUILT);
  // `cdk destroy`, `cdk list` and tests of templates ask for nothing to be bundled, of agents either.
  if (!Stack.of(scope).bundlingRequired) return Code.fromAsset(SOURCES);
  folder ??= bundled();
  return Code.fromAsset(folder);
}

function bundled(): string {
  const made = mkdtempSync(join(tmpdir(), 'holdpoint-functions-'));
  execFileSync(process.execPath, [BUILD, made], { stdio: ['ignore', 'inherit', 'inherit'] });
  return made;
}
