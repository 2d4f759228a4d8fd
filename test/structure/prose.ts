import { readFileSync } from 'node:fs';
import { parseSync } from 'oxc-parser';

/** A line of text that people read. */
export interface ProseLine {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** The prose of a file: all of a page, the comments and texts of a module, the comments and names of a test. */
export function proseIn(file: string, source = readFileSync(file, 'utf8')): readonly ProseLine[] {
  if (!file.endsWith('.ts')) return linesOf(file, source, withoutCodeBlocks(source), 0);
  const { comments, program } = parseSync(file, source);
  const texts = file.endsWith('.test.ts') ? testNames(program) : literals(program);
  return [...comments.map(({ start, end }) => ({ start, end })), ...texts].flatMap(({ start, end }) =>
    linesOf(file, source, source.slice(start, end), start),
  );
}

/** A page with its code blocks blanked, so that line numbers stay. */
const withoutCodeBlocks = (page: string): string =>
  page.replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, ' '));

function linesOf(file: string, source: string, text: string, start: number): readonly ProseLine[] {
  const first = source.slice(0, start).split('\n').length;
  return text.split('\n').map((line, i) => ({ file, line: first + i, text: line }));
}

interface Span {
  readonly start: number;
  readonly end: number;
}

type Node = Span & { readonly type: string; readonly [key: string]: unknown };

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value;

/** All nodes of a syntax tree. */
function nodesIn(root: Node): readonly Node[] {
  const nodes = [root];
  for (const node of nodes)
    for (const value of Object.values(node))
      if (Array.isArray(value)) nodes.push(...value.filter(isNode));
      else if (isNode(value)) nodes.push(value);
  return nodes;
}

/** Texts of more than one word. */
function literals(program: unknown): readonly Span[] {
  return nodesIn(program as Node).filter(
    ({ type, value, raw }) =>
      type === 'TemplateElement' || (type === 'Literal' && typeof value === 'string' && String(raw).includes(' ')),
  );
}

/** The names of tests in a file, without those of describe blocks. */
export function namesOfTests(file: string, source = readFileSync(file, 'utf8')): readonly ProseLine[] {
  const spans = testNames(parseSync(file, source).program, /^(it|test)$/);
  return spans.flatMap(({ start, end }) => linesOf(file, source, source.slice(start + 1, end - 1), start));
}

/** The names of describe blocks and tests, with those of `it.each` tables. */
function testNames(program: unknown, called = /^(it|test|describe\w*)$/): readonly Span[] {
  return nodesIn(program as Node).flatMap((node) => {
    const [first] = node.type === 'CallExpression' ? (node.arguments as readonly Node[]) : [];
    return first && isTestCall(node.callee as Node, called) && /Literal/.test(first.type) ? [first] : [];
  });
}

function isTestCall(callee: Node, called: RegExp): boolean {
  if (callee.type === 'Identifier') return called.test(String(callee.name));
  const inner = callee.type === 'MemberExpression' ? callee.object : callee.callee;
  return isNode(inner) && isTestCall(inner, called);
}
