import { createHash, randomBytes } from 'node:crypto';
import { HoldpointError } from '../core/errors.ts';
import { escapeId, idsOf } from '../core/ids.ts';
import type { Status } from '../core/status.ts';
import type { Places, StoredRecord } from '../storage/ports.ts';
import type { CheckpointId, CheckpointKind, CheckpointSummary, RunSummary } from './checkpoint.ts';
import type { WrappedKey } from './keys.ts';

/** The largest version; ten digits order by themselves. */
export const MAX_VERSION = 9_999_999_999;

export const HEAD_KEY = 'cz';
export const versionKey = (version: number): string => `c${String(version).padStart(10, '0')}`;
export const isCheckpoint = ({ key }: { readonly key: string }): boolean => /^c\d/.test(key);
export const nameKey = (name: string): string => `n${escapeId('checkpoint name', name)}`;

/** A payload that holds part of a state: a snapshot, or the patches that follow one. */
export type Segment = readonly [id: string, sha256: string, bytes: number];

/** The readable part of a checkpoint's record. Short names: it is written at every step and paid for by the kilobyte. */
export interface CheckpointMeta {
  /** time */ readonly t: number;
  /** status, when not RUNNING */ readonly s?: Status;
  /** step */ readonly st?: string;
  /** step number */ readonly n: number;
  /** name */ readonly nm?: string;
  /** labels */ readonly l?: Readonly<Record<string, string>>;
  /** schema version */ readonly v?: number | string;
  /** write id */ readonly w: string;
  /** writer */ readonly by: string;
  /** revision of the predecessor; of the first checkpoint: what the head calls `born` */ readonly p: string;
  /** version of the anchor that this patch stands on */ readonly a?: number;
  /** segments of an anchor */ readonly g?: readonly Segment[];
  /** kind, when not a save */ readonly k?: CheckpointKind;
  /** version that was restored */ readonly f?: number;
  /** where a row of undo and redo began */ readonly top?: number;
  /** parent, when not the predecessor */ readonly pr?: CheckpointId;
  /** payloads that this checkpoint points at and its predecessor did not */ readonly pa?: readonly string[];
  /** payloads that its predecessor pointed at and this one does not */ readonly pd?: readonly string[];
  /** time of the last use, where it is another: a prune is none, and a writer's clock may be behind */ readonly u?: number;
  /** what a prune emptied: ranges of versions */ readonly pz?: readonly (readonly [from: number, to: number])[];
  /** emptied, by a prune (1) or because the run was deleted (2) */ readonly e?: 1 | 2;
}

/** The readable part of a run's head. */
export interface HeadMeta {
  /** A random id of this run's life: another run under the same id has another. */
  readonly born: string;
  readonly created: number;
  readonly touched: number;
  readonly status: Status;
  readonly version: number;
  /** The revision of that version: the chain's hash at the last change of status. */
  readonly hash: string;
  readonly step?: string;
  readonly stepNumber: number;
  readonly agent?: string;
  readonly owner?: string;
  readonly tags?: readonly string[];
  readonly parent?: CheckpointId;
  readonly retention?: number;
  readonly key?: WrappedKey;
  readonly shredded?: true;
  /** Set on a tombstone: when the id may be used again. */
  readonly deletedUntil?: number;
}

export interface CheckpointRecord {
  readonly version: number;
  readonly revision: string;
  readonly meta: CheckpointMeta;
  readonly stored: StoredRecord;
}

export interface HeadRecord {
  readonly revision: string;
  readonly meta: HeadMeta;
}

/** Which checkpoint a name points at, and the anchor that it takes to load it. */
export interface NameMeta {
  readonly version: number;
  readonly anchor: number;
}

export const randomId = (): string => randomBytes(12).toString('base64url');

/** When the run was last written to; a prune does not keep it alive. */
export const usedAt = (meta: CheckpointMeta): number => meta.u ?? meta.t;

/** The time of a checkpoint after this one. A writer whose clock is behind does not bring the end of the run nearer. */
export const timeAfter = (before: CheckpointMeta | undefined, now: number): Pick<CheckpointMeta, 't' | 'u'> =>
  before && usedAt(before) > now ? { t: now, u: usedAt(before) } : { t: now };

export const statusOf = (meta: CheckpointMeta): Status => meta.s ?? 'RUNNING';

/** The hash of a checkpoint as first written: 162 bits of SHA-256 over where it is, what it says and what it holds. */
export function revisionOf(partition: string, version: number, meta: string, body?: Uint8Array): string {
  const hash = createHash('sha256').update(`${partition}\n${version}\n${meta.length}\n${meta}`);
  if (body) hash.update(body);
  return hash.digest('base64url').slice(0, 27);
}

// The first character of the readable part is the version of this format.
const FORMAT = '1';

export const writeMeta = (meta: object): string => FORMAT + JSON.stringify(meta);

export function readMeta<Meta>(record: StoredRecord): Meta {
  const { meta } = record;
  if (meta[0] !== FORMAT) {
    if (/^\d/.test(meta)) {
      throw new HoldpointError(
        'FORMAT_TOO_NEW',
        `${describe(record)} has format ${meta[0]}, this Holdpoint reads format ${FORMAT}: a newer one wrote it. Update holdpoint.`,
        { scope: 'run' },
      );
    }
    throw damaged(record, 'its readable part is not one of Holdpoint');
  }
  try {
    return JSON.parse(meta.slice(1)) as Meta;
  } catch (cause) {
    throw damaged(record, 'its readable part is not JSON', cause);
  }
}

/** Reads a checkpoint and refuses one whose bytes are not those that were written. */
export function readCheckpoint(stored: StoredRecord): CheckpointRecord {
  const meta = readMeta<CheckpointMeta>(stored);
  const version = Number(stored.key.slice(1));
  if (!meta.e && revisionOf(stored.partition, version, stored.meta, stored.body) !== stored.revision) {
    throw damaged(stored, 'its bytes do not have its hash');
  }
  return { version, revision: stored.revision.replace(EMPTIED, ''), meta, stored };
}

// An emptied record keeps the hash of what it was, marked, since equal revisions mean equal contents.
const EMPTIED = '~';

export const readHead = (stored: StoredRecord): HeadRecord => ({ revision: stored.revision, meta: readMeta(stored) });

const DUE_SHARDS = 8;
export const dueGroups: readonly string[] = Array.from({ length: DUE_SHARDS }, (_, shard) => `due/${shard}`);

/** How far the head may be behind the last write of its run: it is renewed at most this often. */
export const TOUCH_MS = 3_600_000;

const orderOf = (time: number): string => String(Math.max(0, Math.floor(time))).padStart(15, '0');

export { orderOf as timeOrder };

/** The moment at which somebody must look at a run: its tombstone may go, or it was not written to for too long. */
const dueOf = (head: HeadMeta): number | undefined =>
  head.deletedUntil ?? (head.retention === undefined ? undefined : head.touched + head.retention + TOUCH_MS);

export function headRecord(partition: string, meta: HeadMeta): StoredRecord {
  const { tenant } = idsOf(partition);
  const group = (last: string) => `${escapeId('tenant', tenant)}/${last}`;
  const order = orderOf(meta.touched);
  const due = dueOf(meta);
  const shard = createHash('sha256').update(partition).digest()[0] ?? 0;
  const places: Places = {
    ...(meta.deletedUntil === undefined && {
      status: { group: group(meta.status), order },
      ...(meta.owner !== undefined && { owner: { group: group(escapeId('owner', meta.owner)), order } }),
    }),
    ...(due !== undefined && { due: { group: `due/${shard % DUE_SHARDS}`, order: orderOf(due) } }),
  };
  return { partition, key: HEAD_KEY, revision: randomId(), meta: writeMeta(meta), places };
}

/** What is left of a checkpoint after a prune: its key, hash and story, but nothing that it held. */
export function pruned(record: CheckpointRecord): StoredRecord {
  const { g: _, l: __, ...story } = record.meta;
  return emptied(record, { ...story, e: 1 });
}

/** What is left of a checkpoint of a deleted run, until its tombstone goes: enough to refuse a late writer. */
export function deleted(record: CheckpointRecord): StoredRecord {
  const { t, n, w, by, p } = record.meta;
  return emptied(record, { t, n, w, by, p, e: 2 });
}

function emptied(record: CheckpointRecord, meta: CheckpointMeta): StoredRecord {
  return {
    partition: record.stored.partition,
    key: record.stored.key,
    revision: record.revision + EMPTIED,
    meta: writeMeta(meta),
  };
}

/** The version whose content is shown: undo, redo and prune change no content of their own, everything else shows itself. */
export const shownAt = (version: number, { k, f }: CheckpointMeta): number =>
  f !== undefined && (k === 'undo' || k === 'redo' || k === 'prune') ? f : version;

export function summaryOf(run: string, record: CheckpointRecord): CheckpointSummary {
  const { meta, version } = record;
  const parent = meta.pr ?? (version > 1 ? { run, version: version - 1 } : undefined);
  const written = meta.a === undefined ? (meta.g?.at(-1)?.[2] ?? 0) : 0;
  return {
    run,
    version,
    kind: meta.k ?? 'save',
    status: statusOf(meta),
    stepNumber: meta.n,
    labels: meta.l ?? {},
    time: new Date(meta.t),
    writer: meta.by,
    writeId: meta.w,
    hash: record.revision,
    pruned: meta.e !== undefined,
    bytes: record.stored.meta.length + (record.stored.body?.length ?? 0) + written,
    ...(meta.st !== undefined && { step: meta.st }),
    ...(meta.nm !== undefined && { name: meta.nm }),
    ...(meta.v !== undefined && { schema: meta.v }),
    ...(parent && { parent }),
    ...(meta.f !== undefined && { restored: meta.f }),
    ...(version > 1 && { previousHash: meta.p }),
  };
}

export function runSummaryOf(partition: string, head: HeadMeta): RunSummary {
  return {
    run: idsOf(partition).run,
    status: head.status,
    tags: head.tags ?? [],
    version: head.version,
    stepNumber: head.stepNumber,
    createdAt: new Date(head.created),
    touchedAt: new Date(head.touched),
    encrypted: head.key !== undefined || head.shredded === true,
    ...(head.agent !== undefined && { agent: head.agent }),
    ...(head.owner !== undefined && { owner: head.owner }),
    ...(head.step !== undefined && { step: head.step }),
    ...(head.parent && { parent: head.parent }),
    ...(head.retention !== undefined && { retentionSeconds: head.retention / 1000 }),
  };
}

export function damaged(where: StoredRecord | string, why: string, cause?: unknown): HoldpointError {
  const what = typeof where === 'string' ? where : describe(where);
  return new HoldpointError('DAMAGED', `${what} is damaged: ${why}. \`verify\` shows how far the run can be trusted.`, {
    scope: 'run',
    cause,
  });
}

function describe(record: StoredRecord): string {
  const { run } = idsOf(record.partition);
  if (record.key === HEAD_KEY) return `The head of run "${run}"`;
  if (record.key.startsWith('n')) return `The name "${decodeURIComponent(record.key.slice(1))}" of run "${run}"`;
  return `Checkpoint ${Number(record.key.slice(1))} of run "${run}"`;
}
