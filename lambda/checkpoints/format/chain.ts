import { isWaitstateError, WaitstateError } from '../../core/errors.ts';
import type { RunContext } from '../context.ts';
import { diff } from '../document/diff.ts';
import { type Doc, isFields, isList } from '../document/document.ts';
import { parse } from '../document/parse.ts';
import { apply } from '../document/patch.ts';
import type { RunCipher } from '../encryption/run-cipher.ts';
import { readBytes, storeBytes } from '../payload/payload-bytes.ts';
import { damagedError } from '../run-errors.ts';
import { compress, decompress } from './compression.ts';
import type { CheckpointMeta, Segment } from './meta.ts';
import { type CheckpointRecord, describeRecord } from './records.ts';
import type { Chain, Content, Patch, Root } from './root.ts';

/** The parts of a record that store a state: its position in a chain, and its unencrypted body. */
export interface WrittenContent {
  readonly meta: Pick<CheckpointMeta, 'anchor' | 'segments'>;
  readonly body: Uint8Array | undefined;
  readonly chain: Chain;
}

/**
 * The body of a record or a segment: a snapshot (`s`) or a patch (`p`), and the model parameters (`m`). Events (`e`) are
 * always in the record.
 */
interface Body {
  readonly s?: Root | undefined;
  readonly p?: Patch | undefined;
  readonly m?: Doc | undefined;
  readonly e?: Doc | undefined;
}

// The approximate size of a record besides its partition and its body: key, hash, metadata.
const RECORD_OVERHEAD_BYTES = 180;
// Below this size a chain costs almost nothing to read, and a snapshot would cost more than it saves.
const SHORT_CHAIN_BYTES = 8 * 1024;
// Patches in records are read in one page of at most 1 MB; a quarter of that leaves room for large metadata.
const MAX_CHAIN_BYTES = 256 * 1024;
const FOLD_RATIO = 3;
const MAX_SEGMENTS = 9;

/** What a checkpoint stores: its content, and the events that are only in its own record. */
type NewContent = Pick<Content, 'root' | 'model'> & { readonly events?: Doc | undefined };

/** Chooses between patch, folded segment and snapshot, and stores what does not fit into the record as payloads. */
export async function writeContent(
  at: RunContext,
  cipher: RunCipher,
  version: number,
  { root, model, events }: NewContent,
  base: Content | undefined,
): Promise<WrittenContent> {
  if (base) {
    const { chain } = base;
    const patch = diff(base.root, root);
    const isEmpty = patch.length === 0 && model === undefined && events === undefined;
    const body = isEmpty ? undefined : compressBody(at, { p: patch, m: model, e: events });
    const bytes = body?.length ?? 0;
    const weightBytes = bytes + overheadBytes(at);
    if (!body || !isSnapshotDue(chain, weightBytes)) {
      if (bytes <= at.records.maxInlineBytes && chain.recordBytes + weightBytes <= MAX_CHAIN_BYTES) {
        const recordBytes = chain.recordBytes + weightBytes;
        const meta = { anchor: chain.anchor, segments: undefined };
        return { meta, body, chain: { ...chain, recordBytes, patches: [...chain.patches, patch] } };
      }
      const folded = await foldPatches(at, cipher, version, chain, patch, weightBytes, model);
      if (folded)
        return { meta: { anchor: undefined, segments: folded.segments }, body: eventsBody(at, events), chain: folded };
    }
  }
  return writeSnapshot(at, cipher, version, { s: root, m: model }, events);
}

/** The body of a record whose content is in segments. */
const eventsBody = (at: RunContext, events: Doc | undefined): Uint8Array | undefined =>
  events === undefined ? undefined : compressBody(at, { e: events });

/** Whether a snapshot is due: the patches, or this patch alone, are as large as the last snapshot. */
const isSnapshotDue = (chain: Chain, weightBytes: number): boolean =>
  weightBytes >= chain.snapshotBytes ||
  bytesSinceSnapshot(chain) + weightBytes >= Math.max(chain.snapshotBytes, SHORT_CHAIN_BYTES);

const overheadBytes = ({ partition }: RunContext): number => partition.length + RECORD_OVERHEAD_BYTES;

const bytesSinceSnapshot = ({ segments, recordBytes }: Chain): number =>
  segments.slice(1).reduce((sum, segment) => sum + segment[2], recordBytes);

async function writeSnapshot(
  at: RunContext,
  cipher: RunCipher,
  version: number,
  content: Body,
  events: Doc | undefined,
): Promise<WrittenContent> {
  const body = compressBody(at, { ...content, e: events });
  const chain = { anchor: version, recordBytes: 0, folded: [], patches: [] };
  // Half of the limit for patches: a larger snapshot in a record would make its step more expensive than others.
  if (body.length <= at.records.maxInlineBytes / 2) {
    const snapshotBytes = body.length + overheadBytes(at);
    return { meta: { anchor: undefined, segments: undefined }, body, chain: { ...chain, snapshotBytes, segments: [] } };
  }
  const segments = [await storeSegment(at, cipher, events ? compressBody(at, content) : body)];
  const meta = { anchor: undefined, segments };
  return { meta, body: eventsBody(at, events), chain: { ...chain, snapshotBytes: body.length, segments } };
}

/**
 * Merges the patches in records, this patch, and the preceding segments that are not much larger into one segment. Each
 * segment is then smaller than the previous one by a factor, so there are few of them for any number of patches.
 */
async function foldPatches(
  at: RunContext,
  cipher: RunCipher,
  version: number,
  chain: Chain,
  patch: Patch,
  weightBytes: number,
  model: Doc | undefined,
): Promise<Chain | undefined> {
  const joined = [...chain.patches, patch];
  const segments = [...chain.segments];
  const folded = [...chain.folded];
  let bytes = chain.recordBytes + weightBytes;
  for (
    let last = segments.at(-1);
    last && segments.length > 1 && last[2] < FOLD_RATIO * bytes;
    last = segments.at(-1)
  ) {
    joined.unshift(folded.pop() ?? []);
    segments.pop();
    bytes += last[2];
  }
  if (segments.length === 0 || segments.length >= MAX_SEGMENTS) return undefined;
  const ops = joined.flat();
  segments.push(await storeSegment(at, cipher, compressBody(at, { p: ops, m: model })));
  return { ...chain, anchor: version, recordBytes: 0, segments, folded: [...folded, ops], patches: [] };
}

function compressBody(at: RunContext, body: Body): Uint8Array {
  try {
    return compress(JSON.stringify(body), at.records.compressesSmallBodies);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const why = 'The state exceeds about 500 MB, the longest string. Store large parts as payloads.';
    throw new WaitstateError('UNSUPPORTED_VALUE', why, { cause });
  }
}

async function storeSegment(at: RunContext, cipher: RunCipher, bytes: Uint8Array): Promise<Segment> {
  const { id, sha256, size } = await storeBytes(at, cipher, bytes);
  return [id, sha256, size];
}

/** The stored parts of a checkpoint's content, before they are combined. */
export interface ContentParts {
  readonly snapshot: Root;
  readonly folded: readonly Patch[];
  readonly patches: readonly Patch[];
  readonly model: Doc | undefined;
}

/** Reads the content of a chain: an anchor and the records that follow it, in order. */
export async function readParts(
  at: RunContext,
  cipher: RunCipher,
  records: readonly CheckpointRecord[],
): Promise<ContentParts> {
  const [anchor, ...rest] = records;
  if (!anchor || anchor.meta.anchor !== undefined) throw damagedError(`Run "${at.run}"`, 'a checkpoint has no anchor');
  for (const [index, record] of rest.entries()) {
    if (record.meta.anchor !== anchor.version)
      throw damagedError(describeRecord(record.stored), 'it belongs to another anchor');
    if (record.meta.previous !== records[index]?.hash) {
      throw damagedError(describeRecord(record.stored), 'it is not linked to the previous checkpoint');
    }
  }
  const recordBodies = records.map((record) => decryptBody(cipher, record));
  const segmentBodies = await Promise.all(
    (anchor.meta.segments ?? []).map(async ([id, sha256, size]) =>
      parseBody(anchor, await readBytes(at, cipher, { id, sha256, size })),
    ),
  );
  const [first = recordBodies[0], ...folded] = segmentBodies;
  if (!first?.s) throw damagedError(describeRecord(anchor.stored), 'it has no snapshot');
  // A prune has no model parameters; those of the step before it apply.
  const step = records.findLastIndex(({ meta }) => meta.kind !== 'prune');
  return {
    snapshot: first.s,
    folded: folded.map(({ p = [] }) => p),
    patches: recordBodies.slice(1).map(({ p = [] }) => p),
    model: (step > 0 ? recordBodies[step] : (segmentBodies.at(-1) ?? recordBodies[0]))?.m,
  };
}

/** The content of the last of these records. */
export async function readContent(
  at: RunContext,
  cipher: RunCipher,
  records: readonly CheckpointRecord[],
): Promise<Content> {
  const { snapshot, folded, patches, model } = await readParts(at, cipher, records);
  const [anchor, ...rest] = records as readonly [CheckpointRecord, ...CheckpointRecord[]];
  const segments = anchor.meta.segments ?? [];
  const weightBytesOf = ({ stored }: CheckpointRecord) => (stored.body?.length ?? 0) + overheadBytes(at);
  return {
    root: namingDamagedCheckpoint(rest.at(-1) ?? anchor, () => applyPatch(snapshot, [...folded, ...patches].flat())),
    model,
    chain: {
      anchor: anchor.version,
      snapshotBytes: segments[0]?.[2] ?? weightBytesOf(anchor),
      recordBytes: rest.reduce((sum, record) => sum + weightBytesOf(record), 0),
      segments,
      folded,
      patches,
    },
  };
}

/** Applies a patch to a root. */
export function applyPatch(root: Root, ops: Patch): Root {
  const after = apply(root, ops);
  if (isRoot(after)) return after;
  throw damagedError('The patched document', 'it is not a state with tool results');
}

/** Reads a document, and names the checkpoint in the error when the document is damaged. */
export function namingDamagedCheckpoint<T>(record: CheckpointRecord, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!isWaitstateError(cause, 'DAMAGED')) throw cause;
    throw damagedError(describeRecord(record.stored), cause.message, cause);
  }
}

const NO_BYTES = new Uint8Array();

/** Encrypts a body for one record. The metadata is authenticated with it, even when the body is empty. */
export const encryptBody =
  (
    at: RunContext,
    cipher: RunCipher,
    version: number,
    body: Uint8Array | undefined,
  ): ((metaText: string) => Uint8Array | undefined) =>
  (metaText) =>
    body || cipher.isEncrypted
      ? cipher.encrypt(body ?? NO_BYTES, recordAad(at.partition, version, metaText))
      : undefined;

/** The body of a record, decrypted. */
export function decryptBody(cipher: RunCipher, record: CheckpointRecord): Body {
  const { stored, version, meta } = record;
  if (!stored.body) {
    // A prune is written without the key and has no content.
    if (!cipher.isEncrypted || (meta.kind === 'prune' && meta.anchor !== undefined)) return {};
    throw damagedError(describeRecord(stored), 'its encrypted part is missing');
  }
  const bytes = cipher.decrypt(stored.body, recordAad(stored.partition, version, stored.meta));
  return bytes.length === 0 ? {} : parseBody(record, bytes);
}

function parseBody(record: CheckpointRecord, bytes: Uint8Array): Body {
  try {
    const body = parse(decompress(bytes));
    if (isBody(body)) return body;
    throw new TypeError('not a body');
  } catch (cause) {
    throw damagedError(describeRecord(record.stored), 'its content is not compressed JSON', cause);
  }
}

function isBody(doc: Doc): doc is Doc & Body {
  if (!isFields(doc)) return false;
  return (doc.s === undefined || isRoot(doc.s)) && (doc.p === undefined || isList(doc.p));
}

const isRoot = (doc: Doc): doc is Doc & Root =>
  isFields(doc) && doc.state !== undefined && isFields(doc.results) && Object.values(doc.results).every(isFields);

const recordAad = (partition: string, version: number, meta: string): string =>
  `${partition}\ncheckpoint ${version}\n${meta}`;
