import { HoldpointError } from '../core/errors.ts';
import type { StoredRecord } from '../storage/ports.ts';
import type { RunContext } from './context.ts';
import type { Doc } from './document/document.ts';
import { parse } from './document/parse.ts';
import { apply, diff, type Op } from './document/patch.ts';
import { pack, unpack } from './packing.ts';
import { readBytes, storeBytes } from './payload.ts';
import { type CheckpointMeta, type CheckpointRecord, damaged, type Segment } from './records.ts';
import type { Sealing } from './sealing.ts';

/** What a checkpoint keeps of its run: the agent's state, and the tool results by call id. */
export interface Root {
  readonly state: Doc;
  readonly results: { readonly [callId: string]: Doc };
  readonly [key: string]: Doc;
}

/** What the newest checkpoint of a run stands on, so that the next one can decide what to write. */
export interface Chain {
  readonly anchor: number;
  /** The weight of the last snapshot, of everything since, and of those patches since the anchor that are in records. */
  readonly snapshotBytes: number;
  readonly sinceBytes: number;
  readonly recordBytes: number;
  readonly segments: readonly Segment[];
  /** The patches in each segment but the first, and those in records since the anchor: what a fold joins. */
  readonly folded: readonly string[];
  readonly patches: readonly string[];
}

/** What one checkpoint holds. */
export interface Content {
  readonly root: Root;
  readonly model: Doc | undefined;
  readonly chain: Chain;
}

/** The parts of a record that keep a state: its place in a chain, and its body before sealing. */
export interface Written {
  readonly meta: Pick<CheckpointMeta, 'a' | 'g'>;
  readonly body: Uint8Array | undefined;
  readonly chain: Chain;
}

// What a record weighs besides its body: keys, hash, readable part.
const RECORD_BYTES = 200;
// Patches in records are read in one page of at most 1 MB; a quarter of it leaves room for large readable parts.
const CHAIN_BYTES = 256 * 1024;
const FOLD_RATIO = 3;
const MAX_SEGMENTS = 9;

/** Decides how a checkpoint keeps its state, and stores what does not fit its record. */
export async function writeContent(
  at: RunContext,
  sealing: Sealing,
  version: number,
  content: { readonly root: Root; readonly model: Doc | undefined },
  base: Content | undefined,
): Promise<Written> {
  const { root, model } = content;
  if (base) {
    const { chain } = base;
    const patch = JSON.stringify(diff(base.root, root));
    const body = patch === '[]' ? modelBody(model) : pack(bodyText('p', patch, model));
    const bytes = body?.length ?? 0;
    const weight = bytes + RECORD_BYTES;
    if (bytes === 0 || chain.sinceBytes + weight < chain.snapshotBytes) {
      if (bytes <= at.records.inlineBytes && chain.recordBytes + weight <= CHAIN_BYTES) {
        return {
          meta: { a: chain.anchor },
          body,
          chain: {
            ...chain,
            sinceBytes: chain.sinceBytes + weight,
            recordBytes: chain.recordBytes + weight,
            patches: [...chain.patches, patch],
          },
        };
      }
      const folded = await fold(at, sealing, version, chain, patch);
      if (folded) return { meta: { g: folded.segments }, body: modelBody(model), chain: folded };
    }
  }
  return writeSnapshot(at, sealing, version, root, model);
}

async function writeSnapshot(
  at: RunContext,
  sealing: Sealing,
  version: number,
  root: Root,
  model: Doc | undefined,
): Promise<Written> {
  const text = textOf(root);
  const body = pack(bodyText('s', text, model));
  const chain = { anchor: version, sinceBytes: 0, recordBytes: 0, folded: [], patches: [] };
  if (body.length <= at.records.inlineBytes) {
    return { meta: {}, body, chain: { ...chain, snapshotBytes: body.length + RECORD_BYTES, segments: [] } };
  }
  const segment = await storeSegment(at, sealing, pack(text));
  return {
    meta: { g: [segment] },
    body: modelBody(model),
    chain: { ...chain, snapshotBytes: segment[2], segments: [segment] },
  };
}

/**
 * Joins the patches in records, this one, and the segments before it that are not much larger, into one segment. Sizes then fall by
 * a factor from each segment to the next, so there are few of them, whatever the number of patches.
 */
async function fold(
  at: RunContext,
  sealing: Sealing,
  version: number,
  chain: Chain,
  patch: string,
): Promise<Chain | undefined> {
  const joined = [...chain.patches, patch];
  const segments = [...chain.segments];
  const folded = [...chain.folded];
  let bytes = chain.recordBytes + pack(patch).length;
  for (
    let last = segments.at(-1);
    last && segments.length > 1 && last[2] < FOLD_RATIO * bytes;
    last = segments.at(-1)
  ) {
    joined.unshift(folded.pop() ?? '[]');
    segments.pop();
    bytes += last[2];
  }
  if (segments.length === 0 || segments.length >= MAX_SEGMENTS) return undefined;
  const text = `[${joined
    .map((ops) => ops.slice(1, -1))
    .filter(Boolean)
    .join()}]`;
  segments.push(await storeSegment(at, sealing, pack(text)));
  return {
    anchor: version,
    snapshotBytes: chain.snapshotBytes,
    sinceBytes: segments.slice(1).reduce((sum, segment) => sum + segment[2], 0),
    recordBytes: 0,
    segments,
    folded: [...folded, text],
    patches: [],
  };
}

function textOf(root: Root): string {
  try {
    return JSON.stringify(root);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const why = 'The state is too large to be written as one text (about 500 MB); keep its large parts as payloads.';
    throw new HoldpointError('UNSUPPORTED_VALUE', why, { cause });
  }
}

async function storeSegment(at: RunContext, sealing: Sealing, bytes: Uint8Array): Promise<Segment> {
  const ref = await storeBytes(at, sealing, bytes);
  return [ref.id, ref.sha256, ref.size];
}

/** What was written for a checkpoint, before it is put together. */
export interface Parts {
  readonly snapshot: Root;
  /** The operations of each patch since, in order: those of segments, then those of records. */
  readonly folded: readonly (readonly Op[])[];
  readonly patches: readonly (readonly Op[])[];
  readonly model: Doc | undefined;
}

/** Reads what these records hold, which are an anchor and everything behind it, in order. */
export async function readParts(
  at: RunContext,
  sealing: Sealing,
  records: readonly CheckpointRecord[],
): Promise<Parts> {
  const [anchor, ...rest] = records;
  if (!anchor || anchor.meta.a !== undefined) throw damaged(`Run "${at.run}"`, 'a checkpoint stands on nothing');
  for (const [index, record] of rest.entries()) {
    if (record.meta.p !== records[index]?.revision)
      throw damaged(record.stored, 'it does not follow from the checkpoint before it');
  }
  const bodies = records.map((record) => openBody(sealing, record));
  const [first, ...folded] = await Promise.all(
    (anchor.meta.g ?? []).map(async ([id, sha256, size]) => {
      return opened(anchor.stored, await readBytes(at, sealing, { id, sha256, size }));
    }),
  );
  const snapshot = (first ?? bodies[0]?.s) as Root | undefined;
  if (!snapshot) throw damaged(anchor.stored, 'it has no snapshot');
  return {
    snapshot,
    folded: folded as readonly Doc[] as readonly (readonly Op[])[],
    patches: bodies.slice(1).map((body) => body.p ?? []),
    model: bodies.at(-1)?.m,
  };
}

/** The content of the last of these records. */
export async function readContent(
  at: RunContext,
  sealing: Sealing,
  records: readonly CheckpointRecord[],
): Promise<Content> {
  const { snapshot, folded, patches, model } = await readParts(at, sealing, records);
  const [anchor, ...rest] = records as readonly [CheckpointRecord, ...CheckpointRecord[]];
  const ops = [...folded, ...patches].flat();
  const segments = anchor.meta.g ?? [];
  const recordBytes = rest.reduce((sum, record) => sum + (record.stored.body?.length ?? 0) + RECORD_BYTES, 0);
  return {
    root: ops.length === 0 ? snapshot : (apply(snapshot, ops) as Root),
    model,
    chain: {
      anchor: anchor.version,
      snapshotBytes: segments[0]?.[2] ?? (anchor.stored.body?.length ?? 0) + RECORD_BYTES,
      sinceBytes: segments.slice(1).reduce((sum, segment) => sum + segment[2], recordBytes),
      recordBytes,
      segments,
      folded: folded.map((patch) => JSON.stringify(patch)),
      patches: patches.map((patch) => JSON.stringify(patch)),
    },
  };
}

interface Body {
  readonly s?: Root;
  readonly p?: Op[];
  readonly m?: Doc;
}

const modelBody = (model: Doc | undefined): Uint8Array | undefined =>
  model === undefined ? undefined : pack(`{"m":${JSON.stringify(model)}}`);

const bodyText = (kind: 's' | 'p', text: string, model: Doc | undefined): string =>
  `{"${kind}":${text}${model === undefined ? '' : `,"m":${JSON.stringify(model)}`}}`;

/** Closes a body for the record that it goes into, and no other: the readable part is authenticated with it. */
export const sealBody = (
  at: RunContext,
  sealing: Sealing,
  version: number,
  meta: string,
  body: Uint8Array,
): Uint8Array => sealing.seal(body, aboutRecord(at.partition, version, meta));

function openBody(sealing: Sealing, record: CheckpointRecord): Body {
  const { stored, version } = record;
  if (!stored.body) return {};
  return opened(stored, sealing.open(stored.body, aboutRecord(stored.partition, version, stored.meta))) as Body;
}

function opened(where: StoredRecord, bytes: Uint8Array): Doc {
  try {
    return parse(unpack(bytes));
  } catch (cause) {
    throw damaged(where, 'what it holds is not packed JSON', cause);
  }
}

const aboutRecord = (partition: string, version: number, meta: string): string =>
  `${partition}\ncheckpoint ${version}\n${meta}`;
