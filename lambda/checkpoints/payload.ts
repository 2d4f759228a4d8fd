import { HoldpointError } from '../core/errors.ts';
import type { PayloadStore } from '../storage/ports.ts';
import type { RunContext } from './context.ts';
import type { PayloadRef } from './document/payloads.ts';
import { damaged, randomId } from './records.ts';
import type { Sealing } from './sealing.ts';

/** What a payload can be made of. */
export type PayloadContent = Uint8Array | string | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

export interface PayloadOptions {
  /** A media type, such as `image/png`. */
  readonly type?: string;
  /** A few words that stay in the state, for those who decide whether to fetch the rest. At most 1,000 characters. */
  readonly digest?: string;
}

/**
 * Bytes kept by reference: a screenshot, a page, a log. Put one anywhere in a state; the bytes are stored with the next save, and fetched
 * only when read.
 */
export function payload(content: PayloadContent, options: PayloadOptions = {}): Payload {
  if ((options.digest?.length ?? 0) > 1000) {
    throw new HoldpointError(
      'INVALID_INPUT',
      `The digest of a payload must have at most 1,000 characters; found ${options.digest?.length}.`,
    );
  }
  if (typeof content === 'string') return new Payload({ bytes: Buffer.from(content), ...options });
  // A copy: the caller may change the bytes before they are saved.
  if (content instanceof Uint8Array) return new Payload({ bytes: Uint8Array.from(content), ...options });
  if (content !== null && typeof content === 'object' && Symbol.asyncIterator in content) {
    return new Payload({ stream: content as AsyncIterable<Uint8Array>, ...options });
  }
  throw new HoldpointError(
    'INVALID_INPUT',
    `A payload must be made of bytes, text or a stream of bytes; found ${typeof content}.`,
  );
}

/** Where a payload's bytes are stored. */
interface Home {
  readonly store: PayloadStore;
  readonly partition: string;
  readonly sealing: Sealing;
  readonly ref: PayloadRef;
}

type Source = PayloadOptions &
  ({ readonly bytes: Uint8Array } | { readonly stream: AsyncIterable<Uint8Array> } | { readonly home: Home });

/** A payload as it stands in a state. Its bytes are proven against their SHA-256 when they are read. */
export class Payload {
  readonly type?: string;
  readonly digest?: string;
  #source: Source | undefined;
  #homes = new Map<string, Home>();

  /** For `payload` and for loading. */
  constructor(source: Source) {
    if (source.type !== undefined) this.type = source.type;
    if (source.digest !== undefined) this.digest = source.digest;
    this.#source = source;
    if ('home' in source) this.#homes.set(source.home.partition, source.home);
  }

  /** Known for bytes and for what was stored; a stream has no size before it was read. */
  get size(): number | undefined {
    return (
      this.#homes.values().next().value?.ref.size ??
      (this.#source && 'bytes' in this.#source ? this.#source.bytes.length : undefined)
    );
  }

  /** The content piece by piece. The last piece comes only after everything was proven; an error means: do not use what came before. */
  async *stream(): AsyncGenerator<Uint8Array> {
    const home = this.#homes.values().next().value;
    if (home) return yield* read(home);
    const source = this.#source;
    if (source && 'bytes' in source) return yield source.bytes;
    throw new HoldpointError(
      'INVALID_INPUT',
      'A payload made of a stream can be read after it was saved; until then the stream is its only copy.',
    );
  }

  async bytes(): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.stream()) pieces.push(piece);
    return Uint8Array.from(Buffer.concat(pieces));
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes());
  }

  /** The pointer for a record of this run, if the bytes are there already: its predecessor points at them, or we just stored them. */
  pointerIn(at: RunContext, sealing: Sealing, live: ReadonlySet<string>): PayloadRef | undefined {
    const home = this.#homes.get(at.partition);
    if (!home) return undefined;
    const storedAt = home.sealing === sealing ? at.tails.unpointed.get(home.ref.id) : undefined;
    const fresh = storedAt !== undefined && at.now() - storedAt < FRESH_MS;
    return fresh || live.has(home.ref.id) ? home.ref : undefined;
  }

  /** Stores the bytes for this run, unless the same bytes are among those that its state points at. */
  async place(at: RunContext, sealing: Sealing, live: ReadonlyMap<string, PayloadRef>): Promise<void> {
    const ref = await this.#store(at, sealing, live);
    // A stream is used up now; what it held is in storage.
    if (this.#source && 'stream' in this.#source) this.#source = undefined;
    this.#homes.set(at.partition, { store: at.payloads, partition: at.partition, sealing, ref });
    if (!live.has(ref.id)) at.tails.unpointed.set(ref.id, at.now());
  }

  async #store(at: RunContext, sealing: Sealing, live: ReadonlyMap<string, PayloadRef>): Promise<PayloadRef> {
    const about = {
      ...(this.type !== undefined && { type: this.type }),
      ...(this.digest !== undefined && { digest: this.digest }),
    };
    const known = (sha256: string) => [...live.values()].find((ref) => ref.sha256 === sha256);
    const source = this.#source;
    if (source && 'bytes' in source) {
      const ref = known(digestOf(sealing, source.bytes)) ?? (await storeBytes(at, sealing, source.bytes));
      return { id: ref.id, sha256: ref.sha256, size: ref.size, ...about };
    }
    const home = this.#homes.values().next().value;
    if (home && !home.sealing.encrypted && !sealing.encrypted && home.store === at.payloads) {
      const found = known(home.ref.sha256);
      if (found) return { ...home.ref, id: found.id };
      const id = randomId();
      if (!(await at.payloads.copy({ partition: home.partition, id: home.ref.id }, { partition: at.partition, id })))
        throw missing(home);
      return { ...home.ref, id };
    }
    if (!home && !(source && 'stream' in source)) {
      throw new HoldpointError(
        'INVALID_INPUT',
        'A payload made of a stream was read once and did not arrive; make it again from a new stream.',
      );
    }
    const id = randomId();
    const hash = sealing.hash();
    let size = 0;
    const measured = async function* (content: AsyncIterable<Uint8Array>) {
      for await (const piece of content) {
        const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
        hash.update(bytes);
        size += bytes.length;
        yield bytes;
      }
    };
    const content = source && 'stream' in source ? source.stream : this.stream();
    this.#source = undefined;
    await at.payloads.put(at.partition, id, sealing.sealStream(measured(content), aboutPayload(at.partition, id)));
    const sha256 = hash.digest('base64url');
    const same = known(sha256);
    if (same) await at.payloads.remove(at.partition, [id]);
    return { id: same?.id ?? id, sha256, size, ...about };
  }
}

// Far below the day after which the collector takes what nothing points at.
const FRESH_MS = 3_600_000;

const digestOf = (sealing: Sealing, bytes: Uint8Array): string => sealing.hash().update(bytes).digest('base64url');

const aboutPayload = (partition: string, id: string): string => `${partition}\npayload ${id}`;

/** Stores bytes under a new random name; durable when it resolves. */
export async function storeBytes(at: RunContext, sealing: Sealing, bytes: Uint8Array): Promise<PayloadRef> {
  const id = randomId();
  const whole = (async function* () {
    yield bytes;
  })();
  const about = aboutPayload(at.partition, id);
  await at.payloads.put(at.partition, id, sealing.encrypted ? await joined(sealing.sealStream(whole, about)) : bytes);
  return { id, sha256: digestOf(sealing, bytes), size: bytes.length };
}

/** Reads bytes that were stored, and refuses others than those. */
export async function readBytes(at: RunContext, sealing: Sealing, ref: PayloadRef): Promise<Uint8Array> {
  return joined(read({ store: at.payloads, partition: at.partition, sealing, ref }));
}

async function joined(content: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
}

async function* read(home: Home): AsyncGenerator<Uint8Array> {
  const { partition, ref, sealing } = home;
  const content = await home.store.open(partition, ref.id);
  if (!content) throw missing(home);
  const hash = sealing.hash();
  let size = 0;
  let held: Uint8Array | undefined;
  for await (const piece of sealing.openStream(content, aboutPayload(partition, ref.id))) {
    if (held) yield held;
    hash.update(piece);
    size += piece.length;
    held = piece;
  }
  if (size !== ref.size || hash.digest('base64url') !== ref.sha256) {
    throw damaged(
      `Payload ${ref.id} of "${partition}"`,
      `${ref.size} bytes with SHA-256 ${ref.sha256} were stored, ${size} others were found`,
    );
  }
  if (held) yield held;
}

const missing = (home: Home): HoldpointError =>
  damaged(`Payload ${home.ref.id} of "${home.partition}"`, 'it is no longer in the storage');
