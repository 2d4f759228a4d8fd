import { WaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import type { RunContext } from './context.ts';
import type { PayloadRef } from './document/payloads.ts';
import type { RunCipher } from './encryption/run-cipher.ts';
import { concatChunks, hashBytes, type PayloadLocation, readVerified, storeBytes } from './payload/payload-bytes.ts';

/** The content of a payload. */
export type PayloadContent = Uint8Array | string | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

/** What the state itself stores about a payload. */
export interface PayloadOptions {
  /** A media type, such as `image/png`. */
  readonly type?: string;
  /** A short summary that helps decide whether to fetch the content. At most 1,000 characters. */
  readonly digest?: string;
}

/** A payload in a state. Reading verifies its bytes against their SHA-256. */
export interface Payload extends PayloadOptions {
  /** The size in bytes; undefined for a stream that was not stored yet. */
  readonly size: number | undefined;
  /** The content in chunks. The last chunk follows only after verification; on an error, discard the earlier chunks. */
  stream(): AsyncIterable<Uint8Array>;
  bytes(): Promise<Uint8Array>;
  text(): Promise<string>;
}

/**
 * Bytes that a state keeps by reference, such as a screenshot, a page or a log. Put it anywhere in a state: the next
 * save stores the bytes, and they are fetched only when read.
 */
export function payload(content: PayloadContent, options: PayloadOptions = {}): Payload {
  if ((options.digest?.length ?? 0) > 1000)
    throw invalidInput('The digest of a payload', 'at most 1,000 characters', options.digest);
  if (typeof content === 'string') return new PayloadValue({ bytes: Buffer.from(content) }, options);
  // Copied, because the caller may change the bytes before they are saved.
  if (content instanceof Uint8Array) return new PayloadValue({ bytes: Uint8Array.from(content) }, options);
  if (typeof content === 'object' && content !== null && Symbol.asyncIterator in content) {
    return new PayloadValue({ stream: content as AsyncIterable<Uint8Array> }, options);
  }
  throw invalidInput('The content of a payload', 'bytes, text or a stream of bytes', content);
}

/** The payload for a stored reference. */
export const storedPayload = (location: PayloadLocation): Payload => new PayloadValue({ location }, location.ref);

export const isPayload = (value: unknown): value is Payload => value instanceof PayloadValue;

/** The source of the bytes. A consumed stream cannot be read again. */
type Source =
  | { readonly bytes: Uint8Array }
  | { readonly stream: AsyncIterable<Uint8Array> }
  | { readonly location: PayloadLocation }
  | 'consumed';

class PayloadValue implements Payload {
  readonly type?: string;
  readonly digest?: string;
  #source: Source;
  /** Where this process stored it, by partition. */
  readonly #stored = new Map<string, PayloadLocation>();

  constructor(source: Source, { type, digest }: PayloadOptions) {
    this.#source = source;
    Object.assign(this, omitUndefined({ type, digest }));
  }

  get size(): number | undefined {
    const source = this.#source;
    if (source === 'consumed') return undefined;
    return 'bytes' in source ? source.bytes.length : 'location' in source ? source.location.ref.size : undefined;
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    const source = this.#source;
    if (source !== 'consumed' && 'location' in source) yield* readVerified(source.location);
    else if (source !== 'consumed' && 'bytes' in source) yield source.bytes;
    else throw new WaitstateError('INVALID_INPUT', STREAM_NOT_SAVED);
  }

  async bytes(): Promise<Uint8Array> {
    return Uint8Array.from(await concatChunks(this.stream()));
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(await concatChunks(this.stream()));
  }

  findRef(at: RunContext, known: ReadonlyMap<string, PayloadRef>): PayloadRef | undefined {
    const source = this.#source;
    const location =
      this.#stored.get(at.partition) ?? (source !== 'consumed' && 'location' in source ? source.location : undefined);
    return location?.partition === at.partition && known.has(location.ref.id) ? location.ref : undefined;
  }

  async store(at: RunContext, cipher: RunCipher, known: ReadonlyMap<string, PayloadRef>): Promise<PayloadRef> {
    const source = this.#source;
    if (source === 'consumed') throw new WaitstateError('INVALID_INPUT', STREAM_CONSUMED);
    if ('stream' in source) this.#source = 'consumed';
    const findSameContent = (sha256: string) => [...known.values()].find((ref) => ref.sha256 === sha256);
    const { id, sha256, size } = await ('bytes' in source
      ? (findSameContent(hashBytes(cipher, source.bytes)) ?? storeBytes(at, cipher, source.bytes))
      : storeElsewhere(at, cipher, source, findSameContent));
    const { type, digest } = this;
    const ref = { id, sha256, size, ...omitUndefined({ type, digest }) };
    const location = { store: at.payloads, partition: at.partition, cipher, ref };
    if ('stream' in source) this.#source = { location };
    this.#stored.set(at.partition, location);
    return ref;
  }
}

const STREAM_NOT_SAVED = 'A payload from a stream can be read only after it was saved.';
const STREAM_CONSUMED = 'A failed save consumed the stream of this payload. Create the payload again.';

/** The reference to a payload of this run, if the predecessor refers to it or this save stored it. */
export const findPayloadRef = (
  value: Payload,
  at: RunContext,
  known: ReadonlyMap<string, PayloadRef>,
): PayloadRef | undefined => (value as PayloadValue).findRef(at, known);

/** Stores the bytes for this run, unless the same content is already among its known payloads. */
export const storePayload = (
  value: Payload,
  at: RunContext,
  cipher: RunCipher,
  known: ReadonlyMap<string, PayloadRef>,
): Promise<PayloadRef> => (value as PayloadValue).store(at, cipher, known);

/** Stores a stream, or a payload of another run. Most payloads are bytes, so this code is loaded when it is needed. */
async function storeElsewhere(
  at: RunContext,
  cipher: RunCipher,
  source: { readonly stream: AsyncIterable<Uint8Array> } | { readonly location: PayloadLocation },
  findSameContent: (sha256: string) => PayloadRef | undefined,
): Promise<PayloadRef> {
  const { storeCopy, storeStream } = await import('./payload/store-stream.ts');
  return 'stream' in source
    ? storeStream(at, cipher, source.stream, findSameContent)
    : storeCopy(at, cipher, source.location, findSameContent);
}
