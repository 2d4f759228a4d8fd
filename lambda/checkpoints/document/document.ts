import { WaitstateError } from '../../core/errors.ts';

/** A value as plain JSON. Every document that a function of this folder returns is deeply frozen. */
export type Doc = null | boolean | number | string | List | Fields;
export type List = readonly Doc[];
export type Fields = { readonly [key: string]: Doc };

/** Converts the instances of one class to plain values and back. */
export interface TypeCodec<T = unknown, D = unknown> {
  is(value: unknown): value is T;
  encode(value: T): D;
  decode(data: D): T;
}

/** Codecs by the name that documents store; do not rename one while stored documents use it. */
export type TypeCodecs = { readonly [name: string]: TypeCodec; readonly [OTHERS]?: OtherTypes };

/** The key of the fallback for classes without a codec. */
export const OTHERS = Symbol('others');

/** Keeps instances of any class by their name and data. */
interface OtherTypes {
  is(value: unknown): value is { readonly type: string; readonly data: unknown };
  decode(type: string, data: unknown): unknown;
}

/** The maximum nesting depth: far above real states, far below where recursion or `JSON.stringify` overflows. */
export const MAX_DEPTH = 1000;

/** The maximum digits of a bigint; parsing takes time quadratic in its length. */
export const MAX_DIGITS = 100_000;

// An accepted value must stay readable inside the root document, with its innermost values encoded as `$` nodes.
const MAX_STORED_DEPTH = MAX_DEPTH + 24;

// The levels of each known frozen container, negative if it contains a `$` node. A positive height means plain: value
// and document are the same object, so encoding it again need not look inside.
const heights = new WeakMap<object, number>();

export const isContainer = (doc: unknown): doc is List | Fields => typeof doc === 'object' && doc !== null;
export const isList = (doc: unknown): doc is List => Array.isArray(doc);
export const isFields = (doc: unknown): doc is Fields => isContainer(doc) && !Array.isArray(doc);

/** The levels of a known frozen container without `$` nodes; 0 for any other object. */
export const plainHeight = (value: object): number => Math.max(heights.get(value) ?? 0, 0);

/** The height of a container after adding a known child. */
export function taller(height: number, child: Doc): number {
  if (!isContainer(child)) return height;
  const below = heights.get(child) ?? 0;
  const levels = Math.max(Math.abs(height), Math.abs(below) + 1);
  return height < 0 || below < 0 ? -levels : levels;
}

/** Freezes a container whose children are known, and registers its height. */
export function register<C extends List | Fields>(container: C, height: number): C {
  heights.set(container, height);
  return Object.freeze(container);
}

/** The initial height of a container: an object with a key `$` is never plain. */
export const baseHeight = (container: object): number => (Object.hasOwn(container, '$') ? -1 : 1);

/** Turns plain JSON into a document: freezes it deeply and registers all containers that are not known yet. */
export function adopt(doc: Doc, depth = 0): Doc {
  if (!isContainer(doc)) return doc;
  const known = heights.get(doc);
  checkDepth(depth + Math.abs(known ?? 1));
  if (known !== undefined) return doc;
  let height = baseHeight(doc);
  for (const child of isList(doc) ? doc : Object.values(doc)) height = taller(height, adopt(child, depth + 1));
  return register(doc, height);
}

export function checkDepth(levels: number): void {
  if (levels > MAX_STORED_DEPTH) throw damaged(`it nests deeper than ${MAX_STORED_DEPTH} levels`);
}

/** Whether two documents are equal, including the order of keys. */
export function equal(a: Doc | undefined, b: Doc | undefined): boolean {
  if (a === b) return true;
  if (!isContainer(a) || !isContainer(b)) return false;
  if (isList(a) || isList(b)) {
    if (!isList(a) || !isList(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!equal(a[i], b[i])) return false;
    return true;
  }
  const keys = Object.keys(a);
  const others = Object.keys(b);
  if (keys.length !== others.length) return false;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] ?? '';
    if (key !== others[i] || !equal(a[key], b[key])) return false;
  }
  return true;
}

/** Whether a key is an array index; objects list these first, in ascending order. */
export const isIndex = (key: string): boolean => String(Number(key) >>> 0) === key && key !== '4294967295';

/** The content of a `$` node; undefined for any other document. */
export function specialOf(doc: Doc | undefined): Doc | undefined {
  if (!isFields(doc) || !Object.hasOwn(doc, '$')) return undefined;
  return Object.keys(doc).length === 1 ? doc.$ : undefined;
}

/** One part of a `$` node with this tag; undefined for any other document. */
export function partOf(doc: Doc | undefined, tag: string, part: number): Doc | undefined {
  const parts = specialOf(doc);
  return isList(parts) && parts[0] === tag ? parts[part] : undefined;
}

// The part of a `$` node that is a verbatim object, in which a key `$` is data.
const VERBATIM: Readonly<Record<string, number>> = { object: 1, 'null-object': 1, error: 3 };

/** The index of the part of a `$` node in which a key `$` is data; 0 if there is none. */
export const verbatimPart = (tag: Doc | undefined): number =>
  typeof tag === 'string' && Object.hasOwn(VERBATIM, tag) ? (VERBATIM[tag] ?? 0) : 0;

/** Sets an own property, even for `__proto__`, where an assignment would change the prototype. */
export function put(target: object, key: string, value: unknown, enumerable = true): void {
  if (key === '__proto__' || !enumerable)
    Object.defineProperty(target, key, { value, enumerable, writable: true, configurable: true });
  else (target as Record<string, unknown>)[key] = value;
}

export const damaged = (what: string, cause?: unknown): WaitstateError =>
  new WaitstateError('DAMAGED', `The stored document is damaged: ${what}.`, { cause });
