import { pathToFileURL } from 'node:url';

// Sources are run as they are, or as what was built from them.
const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

/** A module of Waitstate by its place beside this one, without extension, such as `../../lambda/index`. */
export const ownFile = (path: string): URL => new URL(`${path}${EXTENSION}`, import.meta.url);

/** The folders of the runtime and of the command, and that of the whole package. */
export const RUNTIME = new URL('../../lambda/', import.meta.url).href;
export const COMMAND = new URL('../', import.meta.url).href;
export const PACKAGE = new URL(EXTENSION === '.ts' ? '../../' : '../../../', import.meta.url).href;

/** Whether a module, by URL or path, is code of Waitstate itself. */
export const isOwnCode = (module: string): boolean => {
  const url = module.startsWith('file:') ? module : pathToFileURL(module).href;
  return url.startsWith(RUNTIME) || url.startsWith(COMMAND);
};
