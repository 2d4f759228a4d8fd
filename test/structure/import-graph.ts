import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseSync } from 'oxc-parser';
import { trackedFiles } from './tracked-files.ts';

/** The modules of the product, each with the modules that it imports; type imports and dynamic imports included. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Reads the imports of every tracked TypeScript module below the given folders. */
export function readImportGraph(...folders: readonly string[]): ImportGraph {
  const modules = trackedFiles(...folders).filter((file) => file.endsWith('.ts'));
  return new Map(modules.map((module) => [module, importsOf(module)]));
}

function importsOf(module: string): readonly string[] {
  const { module: parsed, errors } = parseSync(module, readFileSync(module, 'utf8'));
  if (errors.length > 0) throw new Error(`${module} cannot be parsed: ${errors[0]?.message}`);
  const text = readFileSync(module, 'utf8');
  const specifiers = [
    ...parsed.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...parsed.staticExports.flatMap(({ entries }) => entries.flatMap((entry) => entry.moduleRequest?.value ?? [])),
    ...parsed.dynamicImports.map(({ moduleRequest }) => text.slice(moduleRequest.start + 1, moduleRequest.end - 1)),
  ];
  const relative = specifiers.filter((specifier) => specifier.startsWith('.'));
  return [...new Set(relative.map((specifier) => normalize(join(dirname(module), specifier))))];
}

/** Groups of modules that import each other in a circle, each in alphabetical order. */
export function cyclesIn(graph: ImportGraph): readonly (readonly string[])[] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (module: string): void => {
    index.set(module, index.size);
    low.set(module, index.get(module) ?? 0);
    stack.push(module);
    for (const imported of graph.get(module) ?? []) {
      if (!graph.has(imported)) continue;
      if (!index.has(imported)) visit(imported);
      if (stack.includes(imported)) low.set(module, Math.min(low.get(module) ?? 0, low.get(imported) ?? 0));
    }
    if (low.get(module) !== index.get(module)) return;
    const group = stack.splice(stack.indexOf(module));
    if (group.length > 1) cycles.push(group.toSorted());
  };
  for (const module of graph.keys()) if (!index.has(module)) visit(module);
  return cycles;
}
