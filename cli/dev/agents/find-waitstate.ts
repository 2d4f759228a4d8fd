import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { CLI_URL, isOwnCode, ownModule, PACKAGE_URL, RUNTIME_URL } from './own-file.ts';

/** The imports of the modules that were loaded. */
export interface ImportTracker {
  /** The files that a file imports, itself included, without installed packages and Waitstate. */
  filesImportedBy(file: URL): readonly string[];
}

/**
 * Resolves `waitstate` for agent files: to the copy that is installed next to them, otherwise to the copy of this command.
 * Imports of `waitstate` in the command itself resolve as they would in `siblingOf`, because agents and storage must come
 * from the same copy.
 */
export function registerWaitstateResolver(siblingOf?: URL): ImportTracker {
  const imported = new Map<string, Set<string>>();
  registerHooks({
    resolve(specifier, context, next) {
      const isOurs = specifier === 'waitstate' || specifier.startsWith('waitstate/');
      const resolved = isOurs ? find(specifier) : next(specifier, context);
      const from = context.parentURL ?? '';
      imported.set(from, (imported.get(from) ?? new Set()).add(resolved.url));
      return resolved;

      function find(name: string): ReturnType<typeof next> {
        const isFromHere = context.parentURL?.startsWith(CLI_URL) && siblingOf;
        const resolveContext = isFromHere ? { ...context, parentURL: siblingOf.href } : context;
        const own = ownCopyUrl(name);
        try {
          const found = next(name, resolveContext);
          // In this repository, the name resolves to the build, which may be outdated.
          if (!own || !isIn(PACKAGE_URL, found.url)) return found;
        } catch (error) {
          if (!own || !NOT_FOUND.includes(Object(error).code)) throw error;
        }
        return { url: own, shortCircuit: true };
      }
    },
  });
  return { filesImportedBy: (file) => [...reachableFrom(file.href, imported)].map((url) => fileURLToPath(url)) };
}

// The error codes of `import` and `require`.
const NOT_FOUND: readonly unknown[] = ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'];

/** The module that this command's copy of the package exports under a name. */
function ownCopyUrl(name: string): string | undefined {
  const { href } = ownModule(`lambda/${name === 'waitstate' ? 'index' : name.slice('waitstate/'.length)}`);
  return isIn(RUNTIME_URL, href) && existsSync(fileURLToPath(href)) ? href : undefined;
}

const isIn = (folder: string, url: string): boolean =>
  url.startsWith(folder) && !url.slice(folder.length).includes('node_modules/');

function reachableFrom(
  url: string,
  imported: ReadonlyMap<string, ReadonlySet<string>>,
  visited = new Set<string>(),
): ReadonlySet<string> {
  const isWatched = url.startsWith('file:') && !url.includes('/node_modules/') && !isOwnCode(url);
  if (!isWatched || visited.has(url)) return visited;
  visited.add(url);
  for (const next of imported.get(url) ?? []) reachableFrom(next, imported, visited);
  return visited;
}
