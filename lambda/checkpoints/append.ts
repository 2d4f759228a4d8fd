import { HoldpointError } from '../core/errors.ts';
import { checkTransition, type Status } from '../core/status.ts';
import { ConditionFailedError, type StoredRecord, type Write } from '../storage/ports.ts';
import { type Root, sealBody, writeContent } from './chain.ts';
import type { CheckpointId, CheckpointKind } from './checkpoint.ts';
import type { RunContext } from './context.ts';
import type { Doc } from './document/document.ts';
import { payloadRefs } from './document/payloads.ts';
import type { WrappedKey } from './keys.ts';
import {
  type CheckpointMeta,
  type CheckpointRecord,
  HEAD_KEY,
  type HeadMeta,
  type HeadRecord,
  headRecord,
  MAX_VERSION,
  type NameMeta,
  nameKey,
  randomId,
  readCheckpoint,
  readHead,
  revisionOf,
  shownAt,
  statusOf,
  summaryOf,
  TOUCH_MS,
  timeAfter,
  usedAt,
  versionKey,
  writeMeta,
} from './records.ts';
import type { SchemaVersion } from './schema.ts';
import type { Sealing } from './sealing.ts';
import { StaleVersionError } from './stale-version-error.ts';
import { keyContext, newKey, openTail, runDeleted, runNotFound, runShredded, type Tail } from './tail.ts';

/** What the next checkpoint is to be. */
export interface Change {
  readonly root: Root;
  readonly model: Doc | undefined;
  readonly schema: SchemaVersion | undefined;
  readonly kind?: CheckpointKind;
  readonly status?: Status | undefined;
  readonly step?: string | undefined;
  readonly stepNumber?: number | undefined;
  readonly name?: string | undefined;
  /** Takes the name from the checkpoint that has it. */
  readonly moveName?: boolean | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly writeId?: string | undefined;
  readonly restored?: number | undefined;
  readonly top?: number | undefined;
  readonly parent?: CheckpointId | undefined;
  readonly head?: HeadChange | undefined;
}

/** What changes in the head; undefined takes a field away. */
export type HeadChange = {
  readonly [F in 'agent' | 'owner' | 'tags' | 'retention' | 'key' | 'shredded' | 'deletedUntil']?:
    | HeadMeta[F]
    | undefined;
};

/** A run that is not there yet: its id of life, and its key where the store has keys. */
export interface Beginning {
  readonly born: string;
  readonly sealing: Sealing;
  readonly key: Pick<HeadMeta, 'key'>;
}

export async function beginning(at: RunContext, owner: string | undefined): Promise<Beginning> {
  return { born: randomId(), ...(await newKey(at, owner)) };
}

/** Writes the checkpoint that follows, or throws StaleVersionError and has changed nothing. */
export async function append(at: RunContext, base: Tail | Beginning, change: Change): Promise<Tail> {
  const tail = 'record' in base ? base : undefined;
  const before = tail?.record;
  const status = change.status ?? (before ? statusOf(before.meta) : 'RUNNING');
  if (before) {
    const reopen = change.kind === 'rewind' || change.kind === 'undo' || change.kind === 'redo';
    checkTransition(at.run, statusOf(before.meta), status, { reopen });
  }
  const version = (before?.version ?? 0) + 1;
  // A chain never crosses a schema version.
  const patchable = tail && tail.record.meta.v === change.schema ? tail : undefined;
  const written = await writeContent(at, base.sealing, version, change, patchable);
  const refs = payloadChange(tail?.root, change.root);
  const meta: CheckpointMeta = {
    ...timeAfter(before?.meta, at.now()),
    ...(status !== 'RUNNING' && { s: status }),
    ...(change.step !== undefined && { st: change.step }),
    n: change.stepNumber ?? (before?.meta.n ?? 0) + (change.step === undefined ? 0 : 1),
    ...(change.name !== undefined && { nm: change.name }),
    ...(change.labels && { l: change.labels }),
    ...(change.schema !== undefined && { v: change.schema }),
    w: change.writeId ?? randomId(),
    by: at.writer,
    p: before?.revision ?? ('born' in base ? base.born : ''),
    ...(change.kind && { k: change.kind }),
    ...(change.restored !== undefined && { f: change.restored }),
    ...(change.top !== undefined && { top: change.top }),
    ...(change.parent && { pr: change.parent }),
    ...refs,
    ...written.meta,
  };
  const text = writeMeta(meta);
  const body = written.body && sealBody(at, base.sealing, version, text, written.body);
  const record = checkpointRecord(at, version, text, meta, body);
  const head = headAfter(at, base, change.head, record);
  const names = await nameWrites(at, change, { version, anchor: written.chain.anchor });
  const pointed = () => refs.pa?.forEach((id) => void at.tails.unpointed.delete(id));
  try {
    const kept = await commitRecord(at, record, head, names);
    pointed();
    const next: Tail = {
      root: change.root,
      model: change.model,
      chain: written.chain,
      head: kept,
      record,
      sealing: base.sealing,
      seenAt: at.now(),
    };
    at.tails.set(at.partition, next);
    return next;
  } catch (error) {
    at.tails.forget(at.partition);
    // Only who lost knows that nothing was written.
    if (!(error instanceof StaleVersionError)) pointed();
    if (!(error instanceof AlreadyWritten)) throw error;
    return openTail(at, { version });
  }
}

/** Takes the next version without opening the run: a prune, a shred, a delete. Whoever holds an older version loses. */
export async function fence(
  at: RunContext,
  run: { readonly head: HeadRecord; readonly newest: Pick<CheckpointRecord, 'version' | 'revision' | 'meta'> },
  fields: Pick<CheckpointMeta, 'k' | 'pz' | 'u'>,
  change?: HeadChange,
): Promise<HeadRecord> {
  const { s, n, v, a, top } = run.newest.meta;
  const version = run.newest.version + 1;
  const meta: CheckpointMeta = {
    ...timeAfter(run.newest.meta, at.now()),
    ...(s !== undefined && { s }),
    n,
    ...(v !== undefined && { v }),
    w: randomId(),
    by: at.writer,
    p: run.newest.revision,
    a: a ?? run.newest.version,
    f: shownAt(run.newest.version, run.newest.meta),
    ...(top !== undefined && { top }),
    ...fields,
  };
  const record = checkpointRecord(at, version, writeMeta(meta), meta, undefined);
  at.tails.forget(at.partition);
  const head = headAfter(at, { head: run.head, record: run.newest }, change, record);
  const kept = await commitRecord(at, record, head, []);
  // Who held what this was put on has seen everything before it, and goes on from here.
  if (at.tails.held.get(at.partition)?.revision === run.newest.revision) at.tails.held.set(at.partition, record);
  return kept;
}

function checkpointRecord(
  at: RunContext,
  version: number,
  text: string,
  meta: CheckpointMeta,
  body: Uint8Array | undefined,
): CheckpointRecord {
  if (version > MAX_VERSION) throw new HoldpointError('INVALID_INPUT', `A run has at most ${MAX_VERSION} checkpoints.`);
  const revision = revisionOf(at.partition, version, text, body);
  const key = { partition: at.partition, key: versionKey(version), revision, meta: text };
  return { version, revision, meta, stored: body ? { ...key, body } : key };
}

interface HeadStep {
  readonly before: HeadRecord | undefined;
  /** What the head becomes on top of what is there; absent when it can stay as it is. */
  readonly after?: (there: HeadMeta | undefined) => Promise<HeadMeta> | HeadMeta;
}

/** The head moves only with the status, with what lists show, and once an hour; not with every step. */
function headAfter(
  at: RunContext,
  base: { readonly head: HeadRecord; readonly record: Pick<CheckpointRecord, 'meta'> } | Beginning,
  change: HeadChange | undefined,
  record: CheckpointRecord,
): HeadStep {
  const { meta, version, revision } = record;
  const status = statusOf(meta);
  const used = usedAt(meta);
  // A change of status without a step of its own happened in the step before it.
  const step = meta.st ?? ('record' in base ? base.record.meta.st : undefined);
  const moved = { status, version, hash: revision, stepNumber: meta.n, ...(step !== undefined && { step }) };
  if ('born' in base) {
    const { born, key } = base;
    const parent = meta.pr && { parent: meta.pr };
    return {
      before: undefined,
      after: () => ({ born, created: meta.t, touched: meta.t, ...change, ...key, ...parent, ...moved }) as HeadMeta,
    };
  }
  const there = base.head.meta;
  if (!change && there.status === status && Math.abs(used - there.touched) < TOUCH_MS) return { before: base.head };
  return {
    before: base.head,
    async after(head = there) {
      const { step: _, ...rest } = head;
      const next = { ...rest, ...change, ...moved, touched: Math.max(used, head.touched) } as HeadMeta;
      if (next.owner !== head.owner && next.key && at.keys)
        return { ...next, key: await rewrapped(at, head, next.owner) };
      return next;
    },
  };
}

/** The run's key, wrapped by the current key of the ring and for this owner. */
export async function rewrapped(at: RunContext, head: HeadMeta, owner: string | undefined): Promise<WrappedKey> {
  if (!at.keys || !head.key)
    throw new HoldpointError('KEY_UNAVAILABLE', `There are no keys to wrap the key of run "${at.run}" with.`);
  return at.keys.wrap(await at.keys.unwrap(head.key, keyContext(at, head.owner)), keyContext(at, owner));
}

const HEAD_TRIES = 10;

/** One conditional write for a checkpoint, in one transaction with the head and names where those change. */
async function commitRecord(
  at: RunContext,
  record: CheckpointRecord,
  head: HeadStep,
  names: readonly Write[],
): Promise<HeadRecord> {
  let before = head.before;
  for (let attempt = 1; ; attempt++) {
    const stored = head.after && headRecord(at.partition, await head.after(before?.meta));
    const writes: Write[] = [{ put: record.stored, when: 'absent' }];
    if (stored) writes.push({ put: stored, when: before ? { revision: before.revision } : 'absent' });
    try {
      await at.records.commit([...writes, ...names]);
      return stored ? readHead(stored) : (before as HeadRecord);
    } catch (error) {
      if (!(error instanceof ConditionFailedError)) throw error;
      if (error.found.has(0)) throw lost(at, record, error.found.get(0), stored && error.found.get(1));
      if (!stored || !error.found.has(1)) {
        const name = record.meta.nm;
        throw new HoldpointError(
          'NAME_TAKEN',
          `Another checkpoint of run "${at.run}" is named "${name}". Choose another name, or pass \`moveName: true\`.`,
        );
      }
      // The head moved though no checkpoint was written: it was renewed, or its key was. What we change is put on top of that.
      const there = error.found.get(1);
      if (!there) throw runNotFound(at);
      before = readHead(there);
      if (before.meta.deletedUntil !== undefined) throw runDeleted(at.run, before.meta.deletedUntil);
      const same = before.meta.born === head.before?.meta.born;
      if (!same || attempt >= HEAD_TRIES) throw new StaleVersionError(at.run, record.version - 1, undefined);
    }
  }
}

/** Our own record is there: an earlier try of this very write had been applied. */
class AlreadyWritten extends Error {}

function lost(
  at: RunContext,
  record: CheckpointRecord,
  found: StoredRecord | undefined,
  head: StoredRecord | undefined,
): Error {
  if (head?.key === HEAD_KEY && readHead(head).meta.deletedUntil !== undefined)
    return runDeleted(at.run, readHead(head).meta.deletedUntil);
  if (!found) return new StaleVersionError(at.run, record.version - 1, undefined);
  const there = readCheckpoint(found);
  if (there.meta.w === record.meta.w) return new AlreadyWritten();
  if (there.meta.k === 'delete' || there.meta.e === 2) return runDeleted(at.run);
  if (there.meta.k === 'shred') return runShredded(at.run);
  return new StaleVersionError(at.run, record.version - 1, summaryOf(at.run, there));
}

async function nameWrites(at: RunContext, change: Change, to: NameMeta): Promise<readonly Write[]> {
  if (change.name === undefined) return [];
  const key = nameKey(change.name);
  const [there] = change.moveName ? await at.records.read(at.partition, [key]) : [];
  const put = { partition: at.partition, key, revision: randomId(), meta: writeMeta(to) };
  return [{ put, when: there ? { revision: there.revision } : 'absent' }];
}

/** Which payloads a checkpoint points at anew, and which no longer: enough to know at any version what is in use. */
function payloadChange(before: Root | undefined, after: Root): Pick<CheckpointMeta, 'pa' | 'pd'> {
  if (before === after) return {};
  const idsIn = (root: Root | undefined) => new Set(root && payloadRefs(root).map(({ id }) => id));
  const old = idsIn(before);
  const now = idsIn(after);
  const pa = [...now].filter((id) => !old.has(id));
  const pd = [...old].filter((id) => !now.has(id));
  return { ...(pa.length > 0 && { pa }), ...(pd.length > 0 && { pd }) };
}
