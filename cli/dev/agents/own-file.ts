import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

// The code runs from its TypeScript sources or from the build.
const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

// The folder that contains `lambda/` and `cli/`: the repository, or `dist/` in the package, where this code is in a chunk.
const ROOT_URL = findRoot(new URL('.', import.meta.url));

function findRoot(folder: URL): URL {
  return existsSync(new URL(`lambda/index${EXTENSION}`, folder)) ? folder : findRoot(new URL('../', folder));
}

/** The URL of one of our modules, by its path without extension, such as `lambda/index`. */
export const ownModule = (path: string): URL => new URL(`${path}${EXTENSION}`, ROOT_URL);

/** The folders of the runtime, the command and the whole package. */
export const RUNTIME_URL = new URL('lambda/', ROOT_URL).href;
export const CLI_URL = new URL('cli/', ROOT_URL).href;
export const PACKAGE_URL = EXTENSION === '.ts' ? ROOT_URL.href : new URL('../', ROOT_URL).href;

/** Whether a module, by URL or path, belongs to Waitstate itself. */
export const isOwnCode = (module: string): boolean => {
  const url = module.startsWith('file:') ? module : pathToFileURL(module).href;
  // The build also has chunks, next to both folders.
  return EXTENSION === '.js' ? url.startsWith(ROOT_URL.href) : url.startsWith(RUNTIME_URL) || url.startsWith(CLI_URL);
};
