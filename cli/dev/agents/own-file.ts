import { pathToFileURL } from 'node:url';

// The code runs from its TypeScript sources or from the build.
const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

// The folder that contains `lambda/` and `cli/`: the repository, or `dist/` in the package.
const ROOT_URL = new URL('../../../', import.meta.url);

/** The URL of one of our modules, by its path without extension, such as `lambda/index`. */
export const ownModule = (path: string): URL => new URL(`${path}${EXTENSION}`, ROOT_URL);

/** The folders of the runtime, the command and the whole package. */
export const RUNTIME_URL = new URL('lambda/', ROOT_URL).href;
export const CLI_URL = new URL('cli/', ROOT_URL).href;
export const PACKAGE_URL = EXTENSION === '.ts' ? ROOT_URL.href : new URL('../', ROOT_URL).href;

/** Whether a module, by URL or path, belongs to Waitstate itself. */
export const isOwnCode = (module: string): boolean => {
  const url = module.startsWith('file:') ? module : pathToFileURL(module).href;
  return url.startsWith(RUNTIME_URL) || url.startsWith(CLI_URL);
};
