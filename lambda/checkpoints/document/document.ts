import { WaitstateError } from '../../core/errors.ts';

/** A state as plain JSON; deeply frozen once it came out of any function of this folder. */
export type Doc = null | boolean | number | string | List | Fields;
export type List = readonly Doc[];
export type Fields = { readonly [key: string]: Doc };

/** How the instances of one class become plain values and come back. */
export interface TypeCodec<T = unknown, D = unknown> {
  is(value: unknown): value is T;
  encode(value: T): D;
  decode(data: D): T;
}

/** Codecs by the name that documents hold; a name must stay what it is as long as documents with it exist. */
export type TypeCodecs = { readonly [name: string]: TypeCodec; readonly [OTHERS]?: OtherTypes };

/** Where codecs have what keeps instances of classes that they do not name. */
export const OTHERS = Symbol('others');

/** Keeps instances of any class by their name and data. */
interface OtherTypes {
  is(value: unknown): value is { readonly type: string; readonly data: unknown };
  decode(type: string, data: unknown): unknown;
}

/** How deep a value may nest: far above what people build, far below where recursion or `JSON.stringify` overflow. */
export const MAX_DEPTH = 1000;

/** The longest bigint: parsing one takes time by the square of its length. */
export const MAX_DIGITS = 100_000;

// What encode accepts must stay readable inside the root document and with its innermost values as `$` nodes.
const MAX_STORED_DEPTH = MAX_DEPTH + 24;

// How many levels each known frozen container has, negative when a `$` node is among them. A positive one is plain: the
// live value and the document are the same object, so an encode that meets it again need not look inside.
const heights = new WeakMap<object, number>();

export const isContainer = (doc: unknown): doc is List | Fields => typeof doc === 'object' && doc !== null;
export const isList = (doc: unknown): doc is List => Array.isArray(doc);
export const isFields = (doc: unknown): doc is Fields => isContainer(doc) && !Array.isArray(doc);

/** The levels of a known frozen container without `$` nodes; 0 for everything else. */
export const plainHeight = (value: object): number => Math.max(heights.get(value) ?? 0, 0);

/** The height of a container that so far has `height`, with one more child that is itself known. */
export function taller(height: number, child: Doc): number {
  if (!isContainer(child)) return height;
  const below = heights.get(child) ?? 0;
  const levels = Math.max(Math.abs(height), Math.abs(below) + 1);
  return height < 0 || below < 0 ? -levels : levels;
}

/** Freezes a container whose children are known and makes it known too. */
export function register<C extends List | Fields>(container: C, height: number): C {
  heights.set(container, height);
  return Object.freeze(container);
}

/** The height to start from: an object with a key `$` is never plain, whatever the key holds. */
export const baseHeight = (container: object): number => (Object.hasOwn(container, '$') ? -1 : 1);

/** Takes plain JSON as a document: freezes it with everything below, except what is known already. */
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

/** Whether two documents are the same, the order of keys included. */
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

/** Whether a key is an array index; objects list those first and in ascending order, whenever they were set. */
export const isIndex = (key: string): boolean => String(Number(key) >>> 0) === key && key !== '4294967295';

/** What a `$` node holds, undefined for any other document. */
export function specialOf(doc: Doc | undefined): Doc | undefined {
  if (!isFields(doc) || !Object.hasOwn(doc, '$')) return undefined;
  return Object.keys(doc).length === 1 ? doc.$ : undefined;
}

/** One part of a `$` node with this tag, undefined for any other document. */
export function partOf(doc: Doc | undefined, tag: string, part: number): Doc | undefined {
  const parts = specialOf(doc);
  return isList(parts) && parts[0] === tag ? parts[part] : undefined;
}

// Where a `$` node holds an object as it is, in which a key `$` is data.
const VERBATIM: Readonly<Record<string, number>> = { object: 1, 'null-object': 1, error: 3 };

/** The part of a `$` node in which a key `$` is data, 0 if it has none. */
export const verbatimPart = (tag: Doc | undefined): number =>
  typeof tag === 'string' && Object.hasOwn(VERBATIM, tag) ? (VERBATIM[tag] ?? 0) : 0;

/** Sets a property as data, also where an assignment would change the prototype. */
export function put(target: object, key: string, value: unknown, enumerable = true): void {
  if (key === '__proto__' || !enumerable)
    Object.defineProperty(target, key, { value, enumerable, writable: true, configurable: true });
  else (target as Record<string, unknown>)[key] = value;
}

export const damaged = (what: string, cause?: unknown): WaitstateError =>
  new WaitstateError('DAMAGED', `The stored document is damaged: ${what}.`, { cause });
