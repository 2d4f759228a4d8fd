import { types } from 'node:util';
import { WaitstateError } from '../../core/errors.ts';
import {
  adopt,
  baseHeight,
  type Doc,
  equal,
  isFields,
  isIndex,
  isList,
  type List,
  MAX_DEPTH,
  MAX_DIGITS,
  OTHERS,
  partOf,
  plainHeight,
  put,
  register,
  specialOf,
  type TypeCodecs,
  taller,
} from './document.ts';
import { errorFields, isError, textOf } from './error-values.ts';
import { leafParts } from './leaves.ts';
import { printPath, type Step } from './path.ts';
import { findAgain, type Search } from './realign.ts';
import { describeUnsupported } from './unsupported.ts';

export interface EncodeOptions {
  /** The previous document of the value; its equal parts are reused, so that `diff` can compare by identity. */
  readonly base?: Doc | undefined;
  readonly types?: TypeCodecs | undefined;
  /** The start of paths in error messages. */
  readonly root: string;
  /** Called for every object that is neither plain nor an array; returns the document of a payload, or undefined. */
  readonly payload?: ((value: unknown) => Doc | undefined) | undefined;
}

/**
 * Encodes a value as a document. Does not change the value, runs no getter and no `toJSON`, and rejects values that
 * could not be decoded again.
 */
export function encode(value: unknown, options: EncodeOptions): Doc {
  const first = new Encoder(options);
  const doc = first.walk(value, options.base, 0);
  // Only a first pass over the whole value finds shared objects; the second pass numbers them where they first occur.
  return first.repeated.size === 0 ? doc : new Encoder(options, first).walk(value, options.base, 0);
}

const EMPTY_LIST: List = [];
const MAX_GAPS = 100_000;
const TOO_DEEP = `nests deeper than ${MAX_DEPTH} levels; store a flat list or a Map by id`;

type StandIn = { readonly doc: Doc } | { readonly name: string; readonly data: unknown };

class Encoder {
  readonly repeated: Set<object>;
  readonly #standIns: Map<object, StandIn | undefined>;
  readonly #numbering: boolean;
  readonly #seen = new Map<object, number>();
  readonly #openInstances = new Set<object>();
  readonly #path: Step[] = [];
  readonly #options: EncodeOptions;

  constructor(options: EncodeOptions, first?: Encoder) {
    this.#options = options;
    this.#numbering = first !== undefined;
    this.repeated = first ? first.repeated : new Set();
    // A codec returns new objects at every call; both passes must see the same ones.
    this.#standIns = first ? first.#standIns : new Map();
  }

  // Uses few stack frames per level, because a value may nest a thousand levels on a stack that is already in use.
  walk(value: unknown, base: Doc | undefined, depth: number): Doc {
    if (typeof value !== 'object' || value === null) return this.#primitive(value, base);
    const height = plainHeight(value);
    if (depth + (height || 1) > MAX_DEPTH) this.#refuse(TOO_DEEP);
    // A known plain subtree is a value, like a string: if it occurs twice, it is written twice and not shared.
    if (height > 0) return preferBase(value as Doc, base);
    const standIn = this.#standIn(value);
    if (standIn && 'doc' in standIn) return preferBase(standIn.doc, base);
    const occurrence = this.#noteOccurrence(value);
    if (occurrence?.isRepeated) return this.#numbering ? special(base, ['ref', occurrence.number]) : null;
    const previous = partOf(base, 'shared', 2) ?? base;
    const innerDepth = occurrence ? depth + 2 : depth;
    const doc = isPlainArray(value)
      ? this.#list(this.#elements(value), previous, innerDepth, indexStep)
      : isPlainObject(value) && !Object.hasOwn(value, '$') && Object.getPrototypeOf(value) !== null
        ? this.#fields(value, this.#keys(value), previous, innerDepth)
        : this.#special(value, standIn, previous, innerDepth);
    return occurrence ? special(base, ['shared', occurrence.number, doc]) : doc;
  }

  /** Records an object; returns its number if it is shared, and whether it occurred before. */
  #noteOccurrence(value: object): { number: number; isRepeated: boolean } | undefined {
    const number = this.#seen.get(value);
    if (this.#numbering && !this.repeated.has(value)) return undefined;
    if (number === undefined) {
      this.#seen.set(value, this.#seen.size);
      return this.#numbering ? { number: this.#seen.size - 1, isRepeated: false } : undefined;
    }
    if (this.#openInstances.has(value)) this.#refuse('contains itself through its codec; store an id there instead');
    this.repeated.add(value);
    return { number, isRepeated: true };
  }

  #primitive(value: unknown, base: Doc | undefined): Doc {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    if (value === undefined) return special(base, 'undefined');
    if (typeof value === 'bigint') {
      const digits = String(value);
      if (digits.length > MAX_DIGITS) this.#refuse(`is a number of more than ${MAX_DIGITS} digits; store it as text`);
      return special(base, ['bigint', digits]);
    }
    if (typeof value !== 'number') return this.#refuse(describeUnsupported(value));
    if (Object.is(value, -0)) return special(base, '-0');
    return Number.isFinite(value) ? value : special(base, String(value));
  }

  #special(value: object, standIn: StandIn | undefined, base: Doc | undefined, depth: number): Doc {
    if (isPlainObject(value)) {
      const tag = Object.getPrototypeOf(value) === null ? 'null-object' : 'object';
      return special(base, [tag, this.#fields(value, this.#keys(value), partOf(base, tag, 1), depth + 2)]);
    }
    if (standIn && 'name' in standIn) {
      this.#openInstances.add(value);
      const previous = partOf(base, 'class', 1) === standIn.name ? partOf(base, 'class', 2) : undefined;
      const doc = this.walk(standIn.data, previous, depth + 2);
      this.#openInstances.delete(value);
      return special(base, ['class', standIn.name, doc]);
    }
    if (isError(value)) {
      const own = errorFields(value, this.#keys(value));
      const fields = this.#fields(value, own, partOf(base, 'error', 3), depth + 2);
      return special(base, ['error', textOf(value, 'name'), textOf(value, 'message'), fields]);
    }
    const proto: unknown = Object.getPrototypeOf(value);
    const leaf = leafParts(value);
    const isMap = types.isMap(value) && proto === Map.prototype;
    const isSet = types.isSet(value) && proto === Set.prototype;
    if (!leaf && !isMap && !isSet) return this.#refuse(describeUnsupported(value));
    if (leaf?.[0] !== 'bytes' && this.#keys(value).length > 0)
      this.#refuse('has extra properties in addition to its content; store them separately');
    if (leaf) return special(base, leaf);
    const [tag, items] = isMap ? ['map', [...value]] : ['set', [...(value as Set<unknown>)]];
    return special(base, [tag, this.#list(items, partOf(base, tag, 1), depth + 2, isMap ? entryStep : itemStep)]);
  }

  #elements(array: readonly unknown[]): readonly unknown[] {
    // Index keys come first, so checking the last key is enough.
    const keys = this.#keys(array);
    const last = keys.at(-1);
    if (last !== undefined && !isIndex(last)) this.#refuse('is an array with extra properties; store them separately');
    if (array.length - keys.length > MAX_GAPS)
      this.#refuse(`is an array with more than ${MAX_GAPS} holes; store a Map by index`);
    // Elements are read directly: getters at an index are too rare to pay for a descriptor per element.
    return array;
  }

  /** Encodes items against the old ones: at the same index, or at an offset after an insertion or removal. */
  #list(
    items: readonly unknown[],
    base: Doc | undefined,
    depth: number,
    stepAt: (i: number, item: unknown) => Step,
  ): Doc {
    const old: List = isList(base) ? base : EMPTY_LIST;
    const known = knownItems(items, old);
    if (known === items.length && known === old.length && isList(base)) return base;
    const docs = old.slice(0, known);
    let height = known > 0 ? plainHeight(old) : 1;
    let isUnchanged = isList(base) && items.length === old.length;
    const search: Search = { old, growth: items.length - old.length, shift: 0, tries: 2 * items.length + 256 };
    for (let i = known; i < items.length; i++) {
      const previous = old[i + search.shift];
      let doc: Doc;
      if (items[i] === undefined && !(i in items)) doc = special(previous, 'hole');
      else {
        this.#path.push(stepAt(i, items[i]));
        doc = this.walk(items[i], previous, depth + 1);
        this.#path.pop();
      }
      if (doc !== previous) doc = findAgain(doc, i, search);
      isUnchanged &&= doc === old[i];
      height = taller(height, doc);
      docs.push(doc);
    }
    return isUnchanged ? old : register(docs, height);
  }

  #fields(value: object, keys: readonly string[], base: Doc | undefined, depth: number): Doc {
    const old = isFields(base) ? base : undefined;
    const oldKeys = old ? Object.keys(old) : [];
    let isUnchanged = old !== undefined && keys.length === oldKeys.length;
    const docs: Doc[] = [];
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] ?? '';
      const previous = old && (key === oldKeys[i] || Object.hasOwn(old, key)) ? old[key] : undefined;
      this.#path.push(key);
      const doc = this.walk(this.#read(value, key), previous, depth + 1);
      this.#path.pop();
      isUnchanged &&= key === oldKeys[i] && doc === previous;
      docs.push(doc);
    }
    if (isUnchanged && old) return old;
    const fields = {};
    for (let i = 0; i < keys.length; i++) put(fields, keys[i] ?? '', docs[i]);
    return register(fields, docs.reduce(taller, baseHeight(fields)));
  }

  #keys(value: object): string[] {
    for (const symbol of Object.getOwnPropertySymbols(value))
      if (Object.getOwnPropertyDescriptor(value, symbol)?.enumerable)
        this.#refuse(`has the key ${String(symbol)}; only string keys can be stored`);
    return Object.keys(value);
  }

  #read(value: object, key: string): unknown {
    const property = Object.getOwnPropertyDescriptor(value, key);
    if (property && 'value' in property) return property.value;
    // In V8, the stack of an error is an own accessor.
    if (key === 'stack' && isError(value)) return value.stack;
    return this.#refuse('is a getter; store its value');
  }

  #standIn(value: object): StandIn | undefined {
    if (isPlainArray(value) || isPlainObject(value)) return undefined;
    if (this.#standIns.has(value)) return this.#standIns.get(value);
    const standIn = this.#findStandIn(value);
    this.#standIns.set(value, standIn);
    return standIn;
  }

  #findStandIn(value: object): StandIn | undefined {
    for (const [name, codec] of Object.entries(this.#options.types ?? {}))
      if (codec.is(value)) return { name, data: codec.encode(value) };
    if (this.#options.types?.[OTHERS]?.is(value)) return { name: value.type, data: value.data };
    const doc = this.#options.payload?.(value);
    return doc === undefined ? undefined : { doc: adopt(doc) };
  }

  #refuse(what: string): never {
    throw new WaitstateError(
      'UNSUPPORTED_VALUE',
      `${printPath(this.#options.root, this.#path) || 'the value'} ${what}.`,
    );
  }
}

const indexStep = (i: number): Step => i;
const itemStep = (i: number): Step => ['value', i];
const entryStep = (i: number, entry: unknown): Step => ({ entry: i, key: Array.isArray(entry) ? entry[0] : undefined });

const preferBase = (doc: Doc, base: Doc | undefined): Doc => (base !== undefined && equal(doc, base) ? base : doc);

/** How many leading items are identical to those of a plain list, in which the same object means the same value. */
function knownItems(items: readonly unknown[], old: List): number {
  let known = 0;
  if (plainHeight(old) > 0) while (known < old.length && items[known] === old[known]) known++;
  return known;
}

/** A `$` node with this content; reuses the old node if its content is the same. */
function special(base: Doc | undefined, content: string | List): Doc {
  const old = specialOf(base);
  const isUnchanged =
    old === content ||
    (isList(content) && isList(old) && old.length === content.length && content.every((part, i) => part === old[i]));
  return isUnchanged && base !== undefined ? base : adopt({ $: content });
}

// In every realm, the prototype of arrays is itself an array; that of a subclass is not.
const isPlainArray = (value: object): value is readonly unknown[] =>
  Array.isArray(value) && Array.isArray(Object.getPrototypeOf(value));

function isPlainObject(value: object): boolean {
  const proto: unknown = Object.getPrototypeOf(value);
  if (proto === Object.prototype || proto === null) return !Array.isArray(value);
  // The Object.prototype of another realm, for example in a test runner with vm contexts.
  return typeof proto === 'object' && Object.getPrototypeOf(proto) === null && Object.hasOwn(proto, 'hasOwnProperty');
}
