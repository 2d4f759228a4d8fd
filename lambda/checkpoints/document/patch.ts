import { adopt, type Doc, damaged, isContainer, isList, put } from './document.ts';
import type { Op } from './op.ts';

type Container = Doc[] | { [key: string]: Doc };

/**
 * The document after the operations. Copies what is on their paths, once however many there are, and reuses the rest.
 */
export function apply(doc: Doc, ops: readonly Op[]): Doc {
  if (ops.length === 0) return adopt(doc);
  // The root is held like any other value, so that the empty path needs no case of its own.
  const holder: Container = [doc];
  const copies = new Set<Container>([holder]);
  for (const op of ops) applyOp(op, holder, copies);
  return adopt(holder[0] ?? null);
}

function applyOp(op: Op, holder: Container, copies: Set<Container>): void {
  if (!isList(op) || !isList(op[0])) throw misfit(op);
  const path: readonly (Doc | undefined)[] = op[0];
  let parent = holder;
  let key: Doc | undefined = 0;
  for (const next of path) {
    parent = copyOf(read(parent, key, op), parent, key, copies, op);
    key = next;
  }
  if (op.length === 1) {
    if (Array.isArray(parent) || read(parent, key, op) === undefined) throw misfit(op);
    delete parent[String(key)];
  } else if (op.length === 2) {
    if (Array.isArray(parent) ? read(parent, key, op) === undefined : typeof key !== 'string') throw misfit(op);
    put(parent, String(key), op[1]);
  } else if (op.length === 4) spliceOp(op, parent, key, copies);
  else throw misfit(op);
}

function spliceOp(op: Op & { length: 4 }, parent: Container, key: Doc | undefined, copies: Set<Container>): void {
  const [, index, removed, added] = op;
  const target = read(parent, key, op);
  if (typeof target !== 'string' && !isList(target)) throw misfit(op);
  if (!isCount(index) || !isCount(removed) || index + removed > target.length) throw misfit(op);
  if (typeof target === 'string') {
    if (typeof added !== 'string') throw misfit(op);
    put(parent, String(key), target.slice(0, index) + added + target.slice(index + removed));
    return;
  }
  const list = copyOf(target, parent, key, copies, op);
  if (!Array.isArray(list) || !isList(added)) throw misfit(op);
  if (added.length < 10_000) {
    list.splice(index, removed, ...added);
    return;
  }
  // More arguments than a call takes.
  const tail = list.splice(index).slice(removed);
  for (const item of added) list.push(item);
  for (const item of tail) list.push(item);
}

/** The container at a key, as a copy of this call that may be changed. */
function copyOf(
  value: Doc | undefined,
  parent: Container,
  key: Doc | undefined,
  copies: Set<Container>,
  op: Op,
): Container {
  if (!isContainer(value)) throw misfit(op);
  if (copies.has(value as Container)) return value as Container;
  const copy: Container = isList(value) ? value.slice() : { ...value };
  copies.add(copy);
  put(parent, String(key), copy);
  return copy;
}

/** What a container has at a key of its own, undefined if nothing. */
function read(parent: Container, key: Doc | undefined, op: Op): Doc | undefined {
  if (Array.isArray(parent)) return isCount(key) ? parent[key] : undefined;
  if (typeof key !== 'string') throw misfit(op);
  return Object.hasOwn(parent, key) ? parent[key] : undefined;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const misfit = (op: unknown) =>
  damaged(`a change does not fit it: ${JSON.stringify(isList(op) ? op[0] : op)?.slice(0, 200)}`);
