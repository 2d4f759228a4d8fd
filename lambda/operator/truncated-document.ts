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

/** What was shortened: a list or an object has some of its parts, a text some of its characters. */
type CutKind = 'list' | 'object' | 'text';

/** A shortened part of a document, as it stands in a piece. */
export interface Truncation {
  readonly kind: CutKind;
  /** How many elements, keys or characters there are. */
  readonly size: number;
  /** Those that are shown: a document of the same kind, with fewer. */
  readonly shown: Doc;
}

/** Where a piece begins. */
export interface TruncateOptions {
  /** The first element, key or character that is shown. @default 0 */
  readonly from?: number;
}

/** A part of a document that fits a budget. */
export interface TruncatedDocument {
  /** The document, in which `{"$":["cut",kind,size,shown]}` stands for what was shortened. Nothing takes it for a state. */
  readonly value: Doc;
  /** Whether nothing was left out. */
  readonly isWhole: boolean;
}

// Below this a part says nothing: fewer of them are shown instead.
const LEAST_BYTES = 120;
// What a cut costs by itself.
const CUT_BYTES = 32;

/**
 * The part of a document that a JSON pointer names, in about so many bytes of JSON: small parts are whole, the room that is
 * left is shared by the large ones. Undefined when there is no such part.
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

/** A document in about so many bytes of JSON. */
export function truncateToBytes(doc: Doc, budget: number, { from = 0 }: TruncateOptions = {}): TruncatedDocument {
  const cutter = new Cutter();
  const value = from === 0 ? cutter.fitted(doc, budget) : cutter.cut(doc, budget, from);
  return { value, isWhole: !cutter.hasCut };
}

/** The cut that a part of a piece is; undefined for any other. */
export function parseTruncation(doc: Doc | undefined): Truncation | undefined {
  const parts = specialOf(doc);
  if (!isList(parts) || parts[0] !== 'cut') return undefined;
  const [, kind, size, shown = null] = parts;
  return { kind: kind as CutKind, size: Number(size), shown };
}

/** The part that a JSON pointer names. https://www.rfc-editor.org/rfc/rfc6901 */
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

/** One more step of a JSON pointer. */
export const appendPointer = (pointer: string, key: string | number): string =>
  `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;

class Cutter {
  hasCut = false;
  readonly #sizes = new Map<object, number>();

  fitted(doc: Doc, budget: number): Doc {
    return this.#bytes(doc) <= budget ? doc : this.cut(doc, budget, 0);
  }

  /** What of a document fits, beginning at `from`. */
  cut(doc: Doc, budget: number, from: number): Doc {
    if (typeof doc === 'string') return this.#text(doc, budget, from);
    if (isList(doc)) return this.#list(doc, budget, from);
    if (!isFields(doc)) return doc;
    const parts = specialOf(doc);
    if (isList(parts)) return this.#special(parts, budget, from);
    return this.#fields(doc, budget, from, (shown) => shown);
  }

  #text(text: string, budget: number, from: number): Doc {
    // A cut would be longer.
    if (from === 0 && bytesOfText(text) <= 2 * CUT_BYTES) return text;
    const room = Math.max(0, budget - CUT_BYTES);
    let shown = text.slice(from, from + room);
    for (let bytes = bytesOfText(shown); shown !== '' && bytes > room; bytes = bytesOfText(shown))
      shown = shown.slice(0, Math.min(shown.length - 1, Math.floor((shown.length * room) / bytes)));
    // Half of a surrogate pair is no character.
    if (!shown.isWellFormed() && /[\ud800-\udbff]$/.test(shown)) shown = shown.slice(0, -1);
    return this.#mark('text', text.length, shown);
  }

  #list(list: readonly Doc[], budget: number, from: number): Doc {
    const rest = list.slice(from);
    const sizes = rest.map((item) => this.#bytes(item) + 1);
    const room = budget - CUT_BYTES;
    // Of a list, some elements as they are tell more than all of them mutilated; of an object, every key tells something.
    const rooms = roomsFor(sizes, room, { enough: Math.max(LEAST_BYTES, Math.floor(room / 8)) });
    const shown = rooms.map((most, i) => this.fitted(rest[i] ?? null, most - 1));
    return shown.length === list.length ? shown : this.#mark('list', list.length, shown);
  }

  #fields(fields: Fields, budget: number, from: number, around: (shown: Doc) => Doc): Doc {
    const rest = Object.entries(fields).slice(from);
    const keys = rest.map(([key]) => bytesOfText(key) + 2);
    const rooms = roomsFor(
      rest.map(([, value], i) => this.#bytes(value) + (keys[i] ?? 0)),
      budget - CUT_BYTES,
      { keys },
    );
    const shown = {};
    for (const [i, room] of rooms.entries()) {
      const [key, value] = rest[i] ?? ['', null];
      put(shown, key, this.fitted(value, room - (keys[i] ?? 0)));
    }
    const size = Object.keys(fields).length;
    return rooms.length === size ? around(shown) : this.#mark('object', size, around(shown));
  }

  /** A `$` node keeps its parts: only what they hold is shortened. */
  #special(parts: readonly Doc[], budget: number, from: number): Doc {
    const [tag] = parts;
    const verbatim = verbatimPart(tag);
    const held = verbatim > 0 ? parts[verbatim] : undefined;
    // In it a key `$` is data, so the cut stands around the node.
    if (isFields(held)) {
      const others = parts.map((part, i) => (i === 0 || i === verbatim ? part : this.fitted(part, LEAST_BYTES)));
      const room =
        budget -
        parts.reduce(
          (sum: number, part, i) => sum + (i === verbatim ? 0 : Math.min(this.#bytes(part), LEAST_BYTES)),
          16,
        );
      return this.#fields(held, room, from, (shown) => ({ $: others.with(verbatim, shown) }));
    }
    const rooms = roomsFor(
      parts.map((part) => this.#bytes(part) + 1),
      budget - 8,
      { enough: 0 },
    );
    return {
      $: parts.map((part, i) => {
        const room = (rooms[i] ?? 0) - 1;
        if (i === 0) return part;
        return from > 0 && i === parts.length - 1 ? this.cut(part, room, from) : this.fitted(part, room);
      }),
    };
  }

  #mark(kind: CutKind, size: number, shown: Doc): Doc {
    this.hasCut = true;
    return { $: ['cut', kind, size, shown] };
  }

  #bytes(doc: Doc): number {
    if (typeof doc === 'string') return bytesOfText(doc);
    if (!isContainer(doc)) return String(doc).length;
    const known = this.#sizes.get(doc);
    if (known !== undefined) return known;
    const children = isList(doc) ? doc.length : Object.keys(doc).length;
    // Brackets, and a comma between each two.
    let bytes = Math.max(2, children + 1);
    if (isList(doc)) for (const item of doc) bytes += this.#bytes(item);
    else for (const [key, value] of Object.entries(doc)) bytes += bytesOfText(key) + 1 + this.#bytes(value);
    this.#sizes.set(doc, bytes);
    return bytes;
  }
}

const bytesOfText = (text: string): number => Buffer.byteLength(JSON.stringify(text));

/**
 * How much of the budget each of the first parts gets: what is small gets all it needs, the rest is shared alike. Of parts
 * that would get less than is enough there are fewer. `keys` is what each costs before it says anything.
 */
function roomsFor(
  sizes: readonly number[],
  budget: number,
  { enough = LEAST_BYTES, keys = [] }: { readonly enough?: number; readonly keys?: readonly number[] } = {},
): readonly number[] {
  let [count, sum] = [0, 0];
  while (count < sizes.length) {
    sum += Math.min(sizes[count] ?? 0, enough + (keys[count] ?? 0));
    if (sum > budget && enough > 0) break;
    count += 1;
  }
  const shown = sizes.slice(0, count);
  // The level below which parts are whole: the smallest are served first, each may have a fair share of what is left.
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
