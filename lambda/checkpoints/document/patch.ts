import { adopt, type Doc, damaged, isContainer, isList, put } from './document.ts';
import type { Op } from './op.ts';

type Container = Doc[] | { [key: string]: Doc };

/** Applies operations to a document. Containers on the paths are copied once; everything else is reused. */
export function apply(doc: Doc, ops: readonly Op[]): Doc {
  if (ops.length === 0) return adopt(doc);
  // Wraps the root, so that the empty path is no special case.
  const holder: Container = [doc];
  const copies = new Set<Container>([holder]);
  for (const op of ops) applyOp(op, holder, copies);
  return adopt(holder[0] ?? null);
}

function applyOp(op: Op, holder: Container, copies: Set<Container>): void {
  if (!isList(op) || !isList(op[0])) throw invalidOp(op);
  const path: readonly (Doc | undefined)[] = op[0];
  let parent = holder;
  let key: Doc | undefined = 0;
  for (const next of path) {
    parent = copyForWrite(readKey(parent, key, op), parent, key, copies, op);
    key = next;
  }
  if (op.length === 1) {
    if (Array.isArray(parent) || readKey(parent, key, op) === undefined) throw invalidOp(op);
    delete parent[String(key)];
  } else if (op.length === 2) {
    if (Array.isArray(parent) ? readKey(parent, key, op) === undefined : typeof key !== 'string') throw invalidOp(op);
    put(parent, String(key), op[1]);
  } else if (op.length === 4) spliceOp(op, parent, key, copies);
  else throw invalidOp(op);
}

function spliceOp(op: Op & { length: 4 }, parent: Container, key: Doc | undefined, copies: Set<Container>): void {
  const [, index, removed, added] = op;
  const target = readKey(parent, key, op);
  if (typeof target !== 'string' && !isList(target)) throw invalidOp(op);
  if (!isCount(index) || !isCount(removed) || index + removed > target.length) throw invalidOp(op);
  if (typeof target === 'string') {
    if (typeof added !== 'string') throw invalidOp(op);
    put(parent, String(key), target.slice(0, index) + added + target.slice(index + removed));
    return;
  }
  const list = copyForWrite(target, parent, key, copies, op);
  if (!Array.isArray(list) || !isList(added)) throw invalidOp(op);
  if (added.length < 10_000) {
    list.splice(index, removed, ...added);
    return;
  }
  // Too many arguments for a single call.
  const tail = list.splice(index).slice(removed);
  for (const item of added) list.push(item);
  for (const item of tail) list.push(item);
}

/** The container at a key, copied on its first change. */
function copyForWrite(
  value: Doc | undefined,
  parent: Container,
  key: Doc | undefined,
  copies: Set<Container>,
  op: Op,
): Container {
  if (!isContainer(value)) throw invalidOp(op);
  if (copies.has(value as Container)) return value as Container;
  const copy: Container = isList(value) ? value.slice() : { ...value };
  copies.add(copy);
  put(parent, String(key), copy);
  return copy;
}

/** The own value of a container at a key; undefined if there is none. */
function readKey(parent: Container, key: Doc | undefined, op: Op): Doc | undefined {
  if (Array.isArray(parent)) return isCount(key) ? parent[key] : undefined;
  if (typeof key !== 'string') throw invalidOp(op);
  return Object.hasOwn(parent, key) ? parent[key] : undefined;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const invalidOp = (op: unknown) =>
  damaged(`a patch operation does not match it: ${JSON.stringify(isList(op) ? op[0] : op)?.slice(0, 200)}`);
