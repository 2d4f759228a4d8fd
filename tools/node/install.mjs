// Runs after `npm ci`. The scripts of this repository run TypeScript files directly, which Node does since 22.18. On older
// versions, this installs a newer Node as node_modules/.bin/node, which npm scripts and npx use.
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { install } from '../install.mjs';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const link = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url));

if (major < 22 || (major === 22 && minor < 18)) {
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  install('tools/node');
  const folder = dirname(findPackage(`node-${platform}`));
  // 65 MB of headers, which only native modules need.
  rmSync(join(folder, 'include'), { recursive: true, force: true });
  mkdirSync(dirname(link), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(join(folder, 'bin/node'), link);
}

function findPackage(name) {
  try {
    return createRequire(import.meta.url).resolve(`${name}/package.json`);
  } catch {
    throw new Error(
      `This repository needs Node 22.18 or later; this is ${process.version}, and there is no package ${name} to install a ` +
        'newer one from. Install Node 24, then run `npm ci` again.',
    );
  }
}
