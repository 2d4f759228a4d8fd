import { type DeclarationFile, type Origin, readDeclarationFile } from './declaration-file.ts';

/** The public entry points: the declaration file of each, by the name that people import. */
export type Entries = ReadonlyMap<string, string>;

/**
 * Writes a report for each entry point: every exported name with its full declaration, and the types that these refer
 * to. A declaration is in the report of the first entry point that exports it; others refer to that one.
 */
export function writeReports(entries: Entries): ReadonlyMap<string, string> {
  const files = new Map<string, DeclarationFile>();
  const fileAt = (path: string): DeclarationFile => {
    const file = files.get(path) ?? readDeclarationFile(path);
    files.set(path, file);
    return file;
  };
  /** Follows imports and exports to the declaration. */
  const origin = ({ from, name }: Origin): Origin => {
    if (!from.endsWith('.d.ts')) return { from, name };
    const { declarations, imports, exports } = fileAt(from);
    const exported = exports.get(name);
    if (exported && !(exported.from === from && exported.name === name)) return origin(exported);
    if (declarations.has(name)) return { from, name };
    const imported = imports.get(name);
    if (!imported) throw new Error(`${from} does not declare or import ${name}.`);
    return origin(imported);
  };

  /** The entry whose report contains a declaration. */
  const homes = new Map<string, string>();
  const exportedBy = new Map(
    [...entries].map(([entry, path]) => {
      const names = [...fileAt(path).exports].map(([name, each]) => [name, origin(each)] as const);
      for (const [, each] of names) if (!homes.has(idOf(each))) homes.set(idOf(each), entry);
      return [entry, new Map(names.toSorted(([a], [b]) => compare(a, b)))] as const;
    }),
  );
  return new Map([...exportedBy].map(([entry, exported]) => [entry, report(entry, exported)]));

  function report(entry: string, exported: ReadonlyMap<string, Origin>): string {
    const ownIds = new Set([...exported.values()].map(idOf));
    const imported = new Map<string, Set<string>>();
    const reexported = new Map<string, Set<string>>();
    const declared: string[] = [];
    const others: string[] = [];
    const done = new Set<string>();

    /** Adds a declaration and the declarations that it refers to. */
    const declare = (each: Origin, prefix: string, to: string[]): void => {
      if (done.has(idOf(each))) return;
      done.add(idOf(each));
      const { declarations, imports } = fileAt(each.from);
      const declaration = declarations.get(each.name);
      if (!declaration) throw new Error(`${each.from} does not declare ${each.name}.`);
      to.push(declaration.statements.map((statement) => prefix + statement).join('\n'));
      // Other names are type parameters and types of the standard library.
      for (const name of declaration.uses.filter((used) => declarations.has(used) || imports.has(used)))
        refer(each.from, name);
    };
    const refer = (from: string, name: string): void => {
      const used = origin({ from, name });
      const home = homes.get(idOf(used)) ?? (used.from.endsWith('.d.ts') ? entry : used.from);
      if (home !== entry) add(imported, home, renamed(used.name, name));
      else if (used.name !== name) throw new Error(`${from} imports ${used.name} as ${name}; use one name.`);
      else if (!ownIds.has(idOf(used))) {
        homes.set(idOf(used), entry);
        declare(used, '', others);
      }
    };

    for (const [name, each] of exported) {
      const home = homes.get(idOf(each)) ?? entry;
      if (home !== entry) add(reexported, home, renamed(each.name, name));
      else if (each.name === name) declare(each, 'export ', declared);
      else {
        declared.push(`export { ${renamed(each.name, name)} };`);
        declare(each, '', others);
      }
    }
    const parts = [
      listed('import type', imported),
      listed('export', reexported),
      ...declared,
      ...(others.length > 0
        ? ['// Not exported; the declarations above refer to these.', ...others.toSorted(compare)]
        : []),
    ];
    return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
  }
}

function add(names: Map<string, Set<string>>, from: string, name: string): void {
  names.set(from, (names.get(from) ?? new Set()).add(name));
}

const listed = (keyword: string, names: ReadonlyMap<string, ReadonlySet<string>>): string =>
  [...names]
    .toSorted(([a], [b]) => compare(a, b))
    .map(([from, each]) => `${keyword} { ${[...each].toSorted(compare).join(', ')} } from '${from}';`)
    .join('\n');

const idOf = ({ from, name }: Origin): string => `${from}#${name}`;
const renamed = (name: string, as: string): string => (name === as ? name : `${name} as ${as}`);
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
