import { WaitstateError } from '../../core/errors.ts';
import {
  checkDepth,
  type Doc,
  damaged,
  type Fields,
  isContainer,
  isFields,
  isList,
  type List,
  OTHERS,
  plainHeight,
  put,
  specialOf,
  type TypeCodecs,
} from './document.ts';
import { createError, putErrorField } from './error-values.ts';
import { leafValue } from './leaves.ts';
import { type PayloadRef, readPayloadRef } from './payloads.ts';

export interface DecodeOptions {
  readonly types?: TypeCodecs | undefined;
  /** Creates the value for a payload reference. */
  readonly payload?: ((ref: PayloadRef) => unknown) | undefined;
  /**
   * Whether to return a new copy that the caller may change, as migrations do.
   * @default false: objects and arrays are frozen, and plain parts are shared with the document
   */
  readonly mutable?: boolean | undefined;
}

/** Decodes a document to its value. */
export function decode(doc: Doc, options: DecodeOptions = {}): unknown {
  return new Decoder(options).value(doc, 0);
}

/** Decodes a part of a document. */
export type Decode = (part: Doc) => unknown;

/** A decoder for parts of a document that resolves shared references. A hole in an array decodes to undefined. */
export function decodeWithin(doc: Doc, options: DecodeOptions = {}): Decode {
  const decoder = new Decoder(options);
  decoder.value(doc, 0);
  return (part) => (specialOf(part) === 'hole' ? undefined : decoder.value(part, 0));
}

const ATOMS = new Map<Doc | undefined, unknown>([
  ['undefined', undefined],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['-0', -0],
]);

class Decoder {
  readonly #shared = new Map<Doc | undefined, unknown>();
  readonly #options: DecodeOptions;

  constructor(options: DecodeOptions) {
    this.#options = options;
  }

  /**
   * `number` identifies a shared object; it is registered before its content is decoded, because it may contain itself.
   */
  value(doc: Doc | undefined, depth: number, number?: Doc): unknown {
    if (!isContainer(doc)) return doc;
    checkDepth(depth + 1);
    // A shared object is always a new object: plain parts count as values, so the next encode would not see the
    // sharing.
    if (number === undefined && !this.#options.mutable && plainHeight(doc) > 0) return doc;
    if (isList(doc)) return this.#list(doc, depth, this.#remember(number, []));
    if (!Object.hasOwn(doc, '$')) return this.#fields(doc, depth, this.#remember(number, {}));
    const content = specialOf(doc);
    if (ATOMS.has(content)) return ATOMS.get(content);
    if (!isList(content)) throw damaged('it has a value of an unknown type');
    return this.#special(content, depth + 2, number);
  }

  #special(parts: List, depth: number, number: Doc | undefined): unknown {
    const [tag, first, second, third] = parts;
    switch (tag) {
      case 'object':
        return this.#fields(first, depth, this.#remember(number, {}));
      case 'null-object':
        return this.#fields(first, depth, this.#remember(number, Object.create(null)));
      case 'map': {
        const map = this.#remember(number, new Map<unknown, unknown>());
        for (const pair of requireList(first)) {
          const [key, value] = requireList(pair);
          map.set(this.value(key, depth + 2), this.value(value, depth + 2));
        }
        return map;
      }
      case 'set': {
        const set = this.#remember(number, new Set<unknown>());
        for (const item of requireList(first)) set.add(this.value(item, depth + 1));
        return set;
      }
      case 'error': {
        const error = this.#remember(number, createError(String(first), String(second)));
        for (const [key, field] of Object.entries(requireFields(third)))
          putErrorField(error, key, this.value(field, depth + 1));
        return error;
      }
      case 'class':
        return this.#remember(number, this.#instance(String(first), this.value(second, depth)));
      case 'payload':
        if (!this.#options.payload)
          throw new WaitstateError(
            'INVALID_INPUT',
            'The document contains a payload; pass the `payload` option to decode it.',
          );
        return this.#options.payload(readPayloadRef(parts));
      case 'shared':
        return this.value(second, depth, first);
      case 'ref':
        if (!this.#shared.has(first)) throw damaged(`it refers to shared object ${first} before its definition`);
        return this.#shared.get(first);
    }
    const leaf = leafValue(parts);
    if (leaf === undefined) throw damaged(`it has a value of the unknown type ${JSON.stringify(tag)}`);
    return this.#remember(number, leaf);
  }

  #instance(name: string, data: unknown): unknown {
    const codecs = this.#options.types ?? {};
    const codec = Object.hasOwn(codecs, name) ? codecs[name] : undefined;
    if (codec) return codec.decode(data);
    const others = codecs[OTHERS];
    if (others) return others.decode(name, data);
    throw new WaitstateError(
      'INVALID_INPUT',
      `The document has an instance of ${name}. Register the class in \`types\` under this name.`,
    );
  }

  #list(list: List, depth: number, target: unknown[]): unknown {
    for (const [i, item] of list.entries()) if (specialOf(item) !== 'hole') target[i] = this.value(item, depth + 1);
    target.length = list.length;
    return this.#finish(target);
  }

  #fields(fields: Doc | undefined, depth: number, target: object): unknown {
    for (const [key, field] of Object.entries(requireFields(fields))) put(target, key, this.value(field, depth + 1));
    return this.#finish(target);
  }

  #finish<T extends object>(target: T): T {
    return this.#options.mutable ? target : Object.freeze(target);
  }

  #remember<T>(number: Doc | undefined, value: T): T {
    if (number !== undefined) this.#shared.set(number, value);
    return value;
  }
}

function requireList(doc: Doc | undefined): List {
  if (isList(doc)) return doc;
  throw damaged('a list is missing');
}

function requireFields(doc: Doc | undefined): Fields {
  if (isFields(doc)) return doc;
  throw damaged('an object is missing');
}
