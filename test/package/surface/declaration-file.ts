import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Comment, type Node, parseSync, type Statement, visitorKeys } from 'oxc-parser';

/** Where a name comes from: a declaration file, or a package. */
export interface Origin {
  /** The path of a declaration file, or the name of a package. */
  readonly from: string;
  /** The name there; `*` for the whole module. */
  readonly name: string;
}

/** A declaration, without comments and without `export`. */
interface Declaration {
  /** One statement, or the overloads of a function. */
  readonly statements: readonly string[];
  /** The names of the file that the declaration refers to. */
  readonly uses: readonly string[];
}

/** One `.d.ts` file: its declarations, imports and exports by name. */
export interface DeclarationFile {
  readonly declarations: ReadonlyMap<string, Declaration>;
  readonly imports: ReadonlyMap<string, Origin>;
  readonly exports: ReadonlyMap<string, Origin>;
}

/** Reads a `.d.ts` file that the compiler wrote. */
export function readDeclarationFile(path: string): DeclarationFile {
  const source = readFileSync(path, 'utf8');
  const { program, comments, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`);
  const declarations = new Map<string, Declaration>();
  const imports = new Map<string, Origin>();
  const exports = new Map<string, Origin>();
  const originOf = (specifier: string, name: string): Origin => ({ from: resolve(path, specifier), name });

  const declare = (statement: Statement): readonly string[] => {
    const names = declaredNames(statement);
    const { statements, uses, inline } = render(statement, source, comments);
    for (const [local, specifier, name] of inline) imports.set(local, originOf(specifier, name));
    for (const name of names) {
      const before = declarations.get(name);
      declarations.set(name, {
        statements: [...(before?.statements ?? []), ...statements],
        uses: [...(before?.uses ?? []), ...uses],
      });
    }
    return names;
  };

  for (const statement of program.body) {
    if (statement.type === 'ImportDeclaration') {
      for (const each of statement.specifiers) {
        const name =
          each.type === 'ImportSpecifier'
            ? nameOf(each.imported)
            : each.type === 'ImportDefaultSpecifier'
              ? 'default'
              : '*';
        imports.set(each.local.name, originOf(statement.source.value, name));
      }
    } else if (statement.type === 'ExportNamedDeclaration' && statement.declaration) {
      for (const name of declare(statement.declaration)) exports.set(name, { from: path, name });
    } else if (statement.type === 'ExportNamedDeclaration') {
      for (const { local, exported } of statement.specifiers) {
        const from = statement.source
          ? originOf(statement.source.value, nameOf(local))
          : { from: path, name: nameOf(local) };
        exports.set(nameOf(exported), from);
      }
    } else if (declaredNames(statement).length > 0) {
      declare(statement);
    } else {
      throw new Error(`${path}: a statement of type ${statement.type} is not supported in the surface.`);
    }
  }
  return { declarations, imports, exports };
}

/** The declaration file that a relative specifier means, or the package. */
function resolve(path: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier;
  const file = join(dirname(path), specifier.replace(/\.[jt]s$/, '.d.ts'));
  if (!existsSync(file)) throw new Error(`${path} imports ${specifier}, which has no declarations.`);
  return file;
}

const nameOf = (node: { readonly type: string; readonly name?: string; readonly value?: string }): string =>
  node.name ?? node.value ?? '';

/** The names that a statement declares; none if it is not a declaration. */
export function declaredNames(statement: Statement): readonly string[] {
  switch (statement.type) {
    case 'VariableDeclaration':
      return statement.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []));
    case 'ClassDeclaration':
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
      return [statement.id?.name ?? ''];
    default:
      return [];
  }
}

interface Rendered extends Declaration {
  /** The types that are written as `import("./file.ts").Name`: name, specifier and name there. */
  readonly inline: readonly (readonly [string, string, string])[];
}

/** The text of a declaration, without comments and `declare`, with inline imports replaced by their names. */
function render(statement: Statement, source: string, comments: readonly Comment[]): Rendered {
  const uses = new Set<string>();
  const inline: [string, string, string][] = [];
  const cuts = comments.map(({ start, end }) => ({ start, end, by: '' }));
  const use = (node: Node): void => {
    if (node.type === 'Identifier') uses.add(node.name);
    if (node.type === 'TSQualifiedName') use(node.left);
  };
  walk(statement, (node) => {
    if (node.type === 'TSTypeReference') use(node.typeName);
    else if (node.type === 'TSTypeQuery') use(node.exprName);
    else if (node.type === 'TSInterfaceHeritage' || node.type === 'TSClassImplements') use(node.expression);
    else if (node.type === 'ClassDeclaration' && node.superClass) use(node.superClass);
    else if (node.type === 'TSImportType') {
      const { start, end, source: file, qualifier, typeArguments } = node;
      if (qualifier?.type !== 'Identifier')
        throw new Error(`Not supported in the surface: ${source.slice(start, end)}`);
      inline.push([qualifier.name, file.value, qualifier.name]);
      uses.add(qualifier.name);
      cuts.push({ start, end: typeArguments?.start ?? end, by: qualifier.name });
    }
  });
  let text = '';
  let at = statement.start;
  for (const cut of cuts
    .filter(({ start, end }) => start >= at && end <= statement.end)
    .toSorted((a, b) => a.start - b.start)) {
    text += source.slice(at, cut.start) + cut.by;
    at = cut.end;
  }
  text += source.slice(at, statement.end);
  return { statements: [text.replace(/^declare /, '').replaceAll(/\n\s*(?=\n)/g, '')], uses: [...uses], inline };
}

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const key of visitorKeys[node.type] ?? []) {
    const child = node[key as keyof Node] as unknown as Node | readonly (Node | null)[] | null;
    for (const each of Array.isArray(child) ? child : [child]) if (each) walk(each, visit);
  }
}
