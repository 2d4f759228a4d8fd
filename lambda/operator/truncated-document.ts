import {
  type Doc,
  type Fields,
  isContainer,
  isFields,
  isList,
  put,
  specialOf,
  verbatimPart,
} from '../checkpoints/engine.ts';
import { invalidInput } from '../core/invalid-input.ts';

/** What was truncated: the elements of a list, the keys of an object, or the characters of a text. */
type TruncationKind = 'list' | 'object' | 'text';

/** A truncated part of a document. */
export interface Truncation {
  readonly kind: TruncationKind;
  /** How many elements, keys or characters there are. */
  readonly size: number;
  /** The part that is shown: a document of the same kind, with fewer of them. */
  readonly shown: Doc;
}

/** Where a truncated document begins. */
export interface TruncateOptions {
  /** The first element, key or character that is shown. @default 0 */
  readonly from?: number;
}

/** A document that was truncated to a number of bytes. */
export interface TruncatedDocument {
  /** The document, with `{"$":["truncated",kind,size,shown]}` for each truncated part. It is not accepted as a state. */
  readonly value: Doc;
  /** Whether nothing was truncated. */
  readonly isComplete: boolean;
}

// A smaller part would be useless: fewer parts are shown instead.
const MIN_PART_BYTES = 120;
// The size of the marker of a truncated part.
const MARKER_BYTES = 40;

/**
 * Truncates the part of a document at a JSON pointer to about `budget` bytes of JSON: small parts are complete, and large
 * parts share the remaining bytes. Undefined if the pointer leads nowhere.
 */
export function truncateDocument(
  doc: Doc,
  pointer: string,
  budget: number,
  { from = 0 }: TruncateOptions = {},
): TruncatedDocument | undefined {
  if (!(Number.isSafeInteger(from) && from >= 0)) throw invalidInput('`from`', 'a whole number from 0', from);
  const part = resolvePointer(doc, pointer);
  return part === undefined ? undefined : truncateToBytes(part, budget, { from });
}

/** Truncates a document to about `budget` bytes of JSON. */
export function truncateToBytes(doc: Doc, budget: number, { from = 0 }: TruncateOptions = {}): TruncatedDocument {
  const truncator = new Truncator();
  const value = from === 0 ? truncator.fit(doc, budget) : truncator.truncate(doc, budget, from);
  return { value, isComplete: !truncator.hasTruncated };
}

/** Parses the marker of a truncated part; undefined for any other document. */
export function parseTruncation(doc: Doc | undefined): Truncation | undefined {
  const parts = specialOf(doc);
  if (!isList(parts) || parts[0] !== 'truncated') return undefined;
  const [, kind, size, shown = null] = parts;
  return { kind: kind as TruncationKind, size: Number(size), shown };
}

/** The part of a document at a JSON pointer. https://www.rfc-editor.org/rfc/rfc6901 */
export function resolvePointer(doc: Doc, pointer: string): Doc | undefined {
  if (pointer !== '' && !pointer.startsWith('/'))
    throw invalidInput('A path', 'empty or a JSON pointer such as /state/list/0', pointer);
  let part: Doc | undefined = doc;
  for (const token of pointer.split('/').slice(1)) {
    const key: string = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!isContainer(part) || (isList(part) && !/^(0|[1-9]\d{0,15})$/.test(key))) return undefined;
    part = Object.hasOwn(part, key) ? (part as Fields)[key] : undefined;
  }
  return part;
}

/** Appends a key to a JSON pointer. */
export const appendPointer = (pointer: string, key: string | number): string =>
  `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;

class Truncator {
  hasTruncated = false;
  readonly #sizes = new Map<object, number>();

  fit(doc: Doc, budget: number): Doc {
    return this.#bytes(doc) <= budget ? doc : this.truncate(doc, budget, 0);
  }

  /** The part of a document that fits, starting at `from`. */
  truncate(doc: Doc, budget: number, from: number): Doc {
    if (typeof doc === 'string') return this.#text(doc, budget, from);
    if (isList(doc)) return this.#list(doc, budget, from);
    if (!isFields(doc)) return doc;
    const parts = specialOf(doc);
    if (isList(parts)) return this.#special(parts, budget, from);
    return this.#fields(doc, budget, from, (shown) => shown);
  }

  #text(text: string, budget: number, from: number): Doc {
    // A marker would be longer than the text.
    if (from === 0 && bytesOfText(text) <= 2 * MARKER_BYTES) return text;
    const room = Math.max(0, budget - MARKER_BYTES);
    let shown = text.slice(from, from + room);
    for (let bytes = bytesOfText(shown); shown !== '' && bytes > room; bytes = bytesOfText(shown))
      shown = shown.slice(0, Math.min(shown.length - 1, Math.floor((shown.length * room) / bytes)));
    // Half of a surrogate pair is not a character.
    if (!shown.isWellFormed() && /[\ud800-\udbff]$/.test(shown)) shown = shown.slice(0, -1);
    return this.#mark('text', text.length, shown);
  }

  #list(list: readonly Doc[], budget: number, from: number): Doc {
    const rest = list.slice(from);
    const sizes = rest.map((item) => this.#bytes(item) + 1);
    const room = budget - MARKER_BYTES;
    // A few complete elements of a list are more useful than all of them truncated; of an object, every key is useful.
    const rooms = allocateBytes(sizes, room, { enough: Math.max(MIN_PART_BYTES, Math.floor(room / 8)) });
    const shown = rooms.map((bytes, i) => this.fit(rest[i] ?? null, bytes - 1));
    return shown.length === list.length ? shown : this.#mark('list', list.length, shown);
  }

  #fields(fields: Fields, budget: number, from: number, around: (shown: Doc) => Doc): Doc {
    const rest = Object.entries(fields).slice(from);
    const keys = rest.map(([key]) => bytesOfText(key) + 2);
    const rooms = allocateBytes(
      rest.map(([, value], i) => this.#bytes(value) + (keys[i] ?? 0)),
      budget - MARKER_BYTES,
      { keys },
    );
    const shown = {};
    for (const [i, room] of rooms.entries()) {
      const [key, value] = rest[i] ?? ['', null];
      put(shown, key, this.fit(value, room - (keys[i] ?? 0)));
    }
    const size = Object.keys(fields).length;
    return rooms.length === size ? around(shown) : this.#mark('object', size, around(shown));
  }

  /** A `$` node keeps its parts; only their content is truncated. */
  #special(parts: readonly Doc[], budget: number, from: number): Doc {
    const [tag] = parts;
    const verbatim = verbatimPart(tag);
    const held = verbatim > 0 ? parts[verbatim] : undefined;
    // A key `$` in it is data, so the marker goes around the node.
    if (isFields(held)) {
      const others = parts.map((part, i) => (i === 0 || i === verbatim ? part : this.fit(part, MIN_PART_BYTES)));
      const room =
        budget -
        parts.reduce(
          (sum: number, part, i) => sum + (i === verbatim ? 0 : Math.min(this.#bytes(part), MIN_PART_BYTES)),
          16,
        );
      return this.#fields(held, room, from, (shown) => ({ $: others.with(verbatim, shown) }));
    }
    const rooms = allocateBytes(
      parts.map((part) => this.#bytes(part) + 1),
      budget - 8,
      { enough: 0 },
    );
    return {
      $: parts.map((part, i) => {
        const room = (rooms[i] ?? 0) - 1;
        if (i === 0) return part;
        return from > 0 && i === parts.length - 1 ? this.truncate(part, room, from) : this.fit(part, room);
      }),
    };
  }

  #mark(kind: TruncationKind, size: number, shown: Doc): Doc {
    this.hasTruncated = true;
    return { $: ['truncated', kind, size, shown] };
  }

  #bytes(doc: Doc): number {
    if (typeof doc === 'string') return bytesOfText(doc);
    if (!isContainer(doc)) return String(doc).length;
    const known = this.#sizes.get(doc);
    if (known !== undefined) return known;
    const children = isList(doc) ? doc.length : Object.keys(doc).length;
    // Brackets, and commas between children.
    let bytes = Math.max(2, children + 1);
    if (isList(doc)) for (const item of doc) bytes += this.#bytes(item);
    else for (const [key, value] of Object.entries(doc)) bytes += bytesOfText(key) + 1 + this.#bytes(value);
    this.#sizes.set(doc, bytes);
    return bytes;
  }
}

const bytesOfText = (text: string): number => Buffer.byteLength(JSON.stringify(text));

/**
 * The bytes that each of the first parts gets: small parts get all that they need, the others share the rest equally. If
 * parts would get fewer than `enough` bytes, fewer parts are shown. `keys` are the bytes of the key of each part.
 */
function allocateBytes(
  sizes: readonly number[],
  budget: number,
  { enough = MIN_PART_BYTES, keys = [] }: { readonly enough?: number; readonly keys?: readonly number[] } = {},
): readonly number[] {
  let [count, sum] = [0, 0];
  while (count < sizes.length) {
    sum += Math.min(sizes[count] ?? 0, enough + (keys[count] ?? 0));
    if (sum > budget && enough > 0) break;
    count += 1;
  }
  const shown = sizes.slice(0, count);
  // Parts up to this size are complete: starting with the smallest, each part may use an equal share of the rest.
  let left = budget;
  let level = 0;
  for (const [i, size] of shown.toSorted((a, b) => a - b).entries()) {
    level = Math.floor(left / (count - i));
    if (size > level) break;
    left -= size;
    level = Infinity;
  }
  return shown.map((size) => Math.min(size, level));
}
