import { WaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import type { PayloadStore } from '../storage/ports.ts';
import type { RunContext } from './context.ts';
import type { PayloadRef } from './document/payloads.ts';
import type { RunCipher } from './encryption/run-cipher.ts';
import { randomId } from './format/records.ts';
import { damagedError } from './run-errors.ts';

/** What a payload can be made of. */
export type PayloadContent = Uint8Array | string | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

/** What is kept of a payload in the state itself. */
export interface PayloadOptions {
  /** A media type, such as `image/png`. */
  readonly type?: string;
  /** A few words for those who decide whether to fetch the rest. At most 1,000 characters. */
  readonly digest?: string;
}

/** A payload as it stands in a state. Its bytes are proven against their SHA-256 when they are read. */
export interface Payload extends PayloadOptions {
  /** Known for bytes and for what was stored; a stream has no size before it was read. */
  readonly size: number | undefined;
  /**
   * The content piece by piece. The last piece comes only after everything was proven; an error means: do not use what
   * came before.
   */
  stream(): AsyncIterable<Uint8Array>;
  bytes(): Promise<Uint8Array>;
  text(): Promise<string>;
}

/**
 * Bytes kept by reference: a screenshot, a page, a log. Put one anywhere in a state; the bytes are stored with the next
 * save, and fetched only when read.
 */
export function payload(content: PayloadContent, options: PayloadOptions = {}): Payload {
  if ((options.digest?.length ?? 0) > 1000)
    throw invalidInput('The digest of a payload', 'at most 1,000 characters', options.digest);
  if (typeof content === 'string') return new PayloadValue({ bytes: Buffer.from(content) }, options);
  // A copy: the caller may change the bytes before they are saved.
  if (content instanceof Uint8Array) return new PayloadValue({ bytes: Uint8Array.from(content) }, options);
  if (typeof content === 'object' && content !== null && Symbol.asyncIterator in content) {
    return new PayloadValue({ stream: content as AsyncIterable<Uint8Array> }, options);
  }
  throw invalidInput('The content of a payload', 'bytes, text or a stream of bytes', content);
}

/** Where the bytes of a payload are stored. */
interface Home {
  readonly store: PayloadStore;
  readonly partition: string;
  readonly cipher: RunCipher;
  readonly ref: PayloadRef;
}

/** A payload that a state points at. */
export const storedPayload = (home: Home): Payload => new PayloadValue({ home }, home.ref);

export const isPayload = (value: unknown): value is Payload => value instanceof PayloadValue;

/** A stream that was read is spent: what it held is in storage, or lost. */
type Source =
  | { readonly bytes: Uint8Array }
  | { readonly stream: AsyncIterable<Uint8Array> }
  | { readonly home: Home }
  | 'spent';

class PayloadValue implements Payload {
  readonly type?: string;
  readonly digest?: string;
  #source: Source;
  /** By partition, where this process has stored it. */
  readonly #stored = new Map<string, Home>();

  constructor(source: Source, { type, digest }: PayloadOptions) {
    this.#source = source;
    Object.assign(this, omitUndefined({ type, digest }));
  }

  get size(): number | undefined {
    const source = this.#source;
    if (source === 'spent') return undefined;
    return 'bytes' in source ? source.bytes.length : 'home' in source ? source.home.ref.size : undefined;
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    const source = this.#source;
    if (source !== 'spent' && 'home' in source) yield* read(source.home);
    else if (source !== 'spent' && 'bytes' in source) yield source.bytes;
    else throw new WaitstateError('INVALID_INPUT', NOT_YET);
  }

  async bytes(): Promise<Uint8Array> {
    return Uint8Array.from(await joined(this.stream()));
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(await joined(this.stream()));
  }

  pointerIn(at: RunContext, known: ReadonlyMap<string, PayloadRef>): PayloadRef | undefined {
    const source = this.#source;
    const home = this.#stored.get(at.partition) ?? (source !== 'spent' && 'home' in source ? source.home : undefined);
    return home?.partition === at.partition && known.has(home.ref.id) ? home.ref : undefined;
  }

  async place(at: RunContext, cipher: RunCipher, known: ReadonlyMap<string, PayloadRef>): Promise<PayloadRef> {
    const source = this.#source;
    if (source === 'spent') throw new WaitstateError('INVALID_INPUT', SPENT);
    if ('stream' in source) this.#source = 'spent';
    const same = (sha256: string) => [...known.values()].find((ref) => ref.sha256 === sha256);
    const { id, sha256, size } =
      'bytes' in source
        ? (same(digestOf(cipher, source.bytes)) ?? (await storeBytes(at, cipher, source.bytes)))
        : 'home' in source && canCopy(source.home, at, cipher)
          ? (same(source.home.ref.sha256) ?? (await copyOf(at, source.home)))
          : await storeStream(at, cipher, 'stream' in source ? source.stream : read(source.home), same);
    const { type, digest } = this;
    const ref = { id, sha256, size, ...omitUndefined({ type, digest }) };
    const home = { store: at.payloads, partition: at.partition, cipher, ref };
    if ('stream' in source) this.#source = { home };
    this.#stored.set(at.partition, home);
    return ref;
  }
}

const NOT_YET = 'A payload made of a stream can be read after it was saved.';
const SPENT = 'The stream of a payload was read and did not arrive; make the payload anew.';

/**
 * The pointer for a record of this run, if the bytes are known in it: its predecessor points at them, or this save
 * stored them.
 */
export const findPayloadRef = (
  value: Payload,
  at: RunContext,
  known: ReadonlyMap<string, PayloadRef>,
): PayloadRef | undefined => (value as PayloadValue).pointerIn(at, known);

/** Stores the bytes for this run, unless the same bytes are among those that are known in it. */
export const storePayload = (
  value: Payload,
  at: RunContext,
  cipher: RunCipher,
  known: ReadonlyMap<string, PayloadRef>,
): Promise<PayloadRef> => (value as PayloadValue).place(at, cipher, known);

/** Whether the storage can copy it by itself: nothing has to be encrypted anew. */
const canCopy = (home: Home, at: RunContext, cipher: RunCipher): boolean =>
  home.store === at.payloads && !home.cipher.isEncrypted && !cipher.isEncrypted;

async function copyOf(at: RunContext, { partition, ref }: Home): Promise<PayloadRef> {
  const id = randomId();
  if (await at.payloads.copy({ partition, id: ref.id }, { partition: at.partition, id })) return { ...ref, id };
  throw missing(partition, ref);
}

async function storeStream(
  at: RunContext,
  cipher: RunCipher,
  content: AsyncIterable<Uint8Array>,
  same: (sha256: string) => PayloadRef | undefined,
): Promise<PayloadRef> {
  const id = randomId();
  const hash = cipher.hash();
  let size = 0;
  const measured = (async function* () {
    for await (const piece of content) {
      if (typeof piece !== 'string' && !(piece instanceof Uint8Array)) {
        throw invalidInput('A piece of the stream of a payload', 'a Uint8Array', piece);
      }
      // A copy: who reads files may use one buffer for all pieces.
      const bytes = Buffer.from(piece);
      hash.update(bytes);
      size += bytes.length;
      yield bytes;
    }
  })();
  await at.payloads.put(at.partition, id, cipher.encryptStream(measured, aboutPayload(at.partition, id)));
  const sha256 = hash.digest('base64url');
  const known = same(sha256);
  if (known) await at.payloads.remove(at.partition, [id]);
  return known ?? { id, sha256, size };
}

/** Stores bytes under a new random name; durable when it resolves. */
export async function storeBytes(at: RunContext, cipher: RunCipher, bytes: Uint8Array): Promise<PayloadRef> {
  const id = randomId();
  const about = aboutPayload(at.partition, id);
  await at.payloads.put(
    at.partition,
    id,
    cipher.isEncrypted ? await joined(cipher.encryptStream(only(bytes), about)) : bytes,
  );
  return { id, sha256: digestOf(cipher, bytes), size: bytes.length };
}

/** Reads bytes that were stored, and refuses others than those. */
export const readBytes = (at: RunContext, cipher: RunCipher, ref: PayloadRef): Promise<Uint8Array> =>
  joined(read({ store: at.payloads, partition: at.partition, cipher, ref }));

async function* read({ store, partition, cipher, ref }: Home): AsyncGenerator<Uint8Array> {
  const content = await store.open(partition, ref.id);
  if (!content) throw missing(partition, ref);
  const hash = cipher.hash();
  let size = 0;
  let held: Uint8Array | undefined;
  for await (const piece of cipher.decryptStream(content, aboutPayload(partition, ref.id))) {
    if (held) yield held;
    hash.update(piece);
    size += piece.length;
    held = piece;
    if (size > ref.size) break;
  }
  if (size !== ref.size || hash.digest('base64url') !== ref.sha256) {
    throw damagedError(
      nameOf(partition, ref),
      `${ref.size} bytes with hash ${ref.sha256} were stored, ${size} others were found`,
    );
  }
  if (held) yield held;
}

const aboutPayload = (partition: string, id: string): string => `${partition}\npayload ${id}`;

const digestOf = (cipher: RunCipher, bytes: Uint8Array): string => cipher.hash().update(bytes).digest('base64url');

const nameOf = (partition: string, { id }: PayloadRef): string => `Payload ${id} of "${partition}"`;

const missing = (partition: string, ref: PayloadRef): WaitstateError =>
  damagedError(nameOf(partition, ref), 'it is no longer in the storage');

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function joined(content: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
}
