import { HoldpointError } from '../core/errors.ts';
import { checkTransition, type Status } from '../core/status.ts';
import { ConditionFailedError, type StoredRecord, type Write } from '../storage/ports.ts';
import { type Content, type Root, sealBody, writeContent } from './chain.ts';
import type { CheckpointId, CheckpointKind } from './checkpoint.ts';
import type { RunContext } from './context.ts';
import type { Doc } from './document/document.ts';
import { payloadRefs } from './document/payloads.ts';
import type { CheckpointMeta, HeadMeta } from './meta.ts';
import { type Opened, open } from './open.ts';
import {
  type CheckpointRecord,
  checkpointRecord,
  type HeadRecord,
  headRecord,
  MAX_VERSION,
  NO_META,
  nameKey,
  nameRecord,
  randomId,
  readCheckpoint,
  readHead,
  shownAt,
  summaryOf,
  TOUCH_MS,
  usedAt,
} from './records.ts';
import { runDeleted, runNotFound, runShredded } from './run-errors.ts';
import { newKey, rewrapped } from './run-key.ts';
import type { SchemaVersion } from './schema.ts';
import type { Sealing } from './sealing.ts';
import { StaleVersionError } from './stale-version-error.ts';

/** What the next checkpoint is to be. */
export interface Change {
  readonly root: Root;
  readonly model: Doc | undefined;
  readonly schema: SchemaVersion | undefined;
  readonly kind?: CheckpointKind | undefined;
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
export type HeadChange = Partial<
  Pick<HeadMeta, 'agent' | 'owner' | 'tags' | 'retentionMs' | 'key' | 'shredded' | 'deletedUntil'>
>;

/** What a checkpoint follows. Before the first one there is version 0, which has no head and no content. */
export interface Predecessor {
  readonly record: Pick<CheckpointRecord, 'version' | 'hash' | 'meta'>;
  readonly head: HeadRecord | { readonly begins: Pick<HeadMeta, 'born' | 'key'> };
}

/** A predecessor whose content is known. */
export type Base = Predecessor & { readonly sealing: Sealing; readonly content: Content | undefined };

export const baseOf = (opened: Opened): Base => ({ ...opened, content: opened });

/** The place before the first checkpoint of a new run, with a key of its own where the store has keys. */
export async function beginning(at: RunContext, owner: string | undefined): Promise<Base> {
  const { sealing, key } = await newKey(at, owner);
  const born = randomId();
  return {
    record: { version: 0, hash: born, meta: NO_META },
    head: { begins: { born, key } },
    sealing,
    content: undefined,
  };
}

/** Writes the checkpoint that follows, or throws StaleVersionError and has changed nothing. */
export async function append(at: RunContext, base: Base, change: Change): Promise<Opened> {
  const { record: before, content, sealing } = base;
  const { root, model, head: headChange, moveName: _, ...fields } = change;
  const status = change.status ?? before.meta.status;
  const reopen = change.kind === 'rewind' || change.kind === 'undo' || change.kind === 'redo';
  if (before.version > 0) checkTransition(at.run, before.meta.status, status, { reopen });
  const version = before.version + 1;
  // A chain never crosses a schema version.
  const patchable = before.meta.schema === change.schema ? content : undefined;
  const written = await writeContent(at, sealing, version, change, patchable);
  const meta = metaAfter(at, before, {
    ...fields,
    ...payloadChange(content?.root, root),
    ...written.meta,
    status,
    stepNumber: change.stepNumber ?? before.meta.stepNumber + (change.step === undefined ? 0 : 1),
  });
  const record = checkpointRecord(at.partition, version, meta, sealBody(at, sealing, version, written.body));
  const move =
    change.name === undefined
      ? undefined
      : { name: change.name, take: change.moveName === true, anchor: written.chain.anchor };
  at.cache.forget(at.partition);
  const outcome = await commit(at, base, record, headMove(at, base, record, headChange), move);
  if (outcome === 'written before') return open(at, version);
  const opened = { root, model, chain: written.chain, head: outcome, record, sealing, seenAt: at.now() };
  at.cache.keep(at.partition, opened);
  return opened;
}

/** Takes the next version without opening the run: a prune, a shred, a delete. Whoever holds an older version loses. */
export async function fence(
  at: RunContext,
  before: Predecessor,
  fields: Pick<CheckpointMeta, 'kind'> & MetaFields,
  change?: HeadChange,
): Promise<HeadRecord> {
  const { version, meta } = before.record;
  const { step, labels, status, schema, stepNumber, top } = meta;
  const shown = { step, labels, status, schema, stepNumber, top, restored: shownAt(version, meta) };
  const next = metaAfter(at, before.record, { ...shown, anchor: meta.anchor ?? version, ...fields });
  const record = checkpointRecord(at.partition, version + 1, next, () => undefined);
  at.cache.forget(at.partition);
  const outcome = await commit(at, before, record, headMove(at, before, record, change), undefined);
  if (outcome === 'written before') throw new StaleVersionError(at.run, version, undefined);
  return outcome;
}

type MetaFields = { readonly [F in keyof CheckpointMeta]?: CheckpointMeta[F] | undefined };

/** The readable part of the checkpoint after this one. */
function metaAfter(at: RunContext, before: Predecessor['record'], fields: MetaFields): CheckpointMeta {
  if (before.version >= MAX_VERSION) {
    throw new HoldpointError('INVALID_INPUT', `A run has at most ${MAX_VERSION} checkpoints.`);
  }
  const time = at.now();
  // A writer whose clock is behind does not bring the end of the run nearer.
  const used = Math.max(time, usedAt(before.meta));
  const own = {
    time,
    usedAt: used > time ? used : undefined,
    writer: at.writer,
    writeId: randomId(),
    previous: before.hash,
  };
  const given = Object.entries(fields).filter(([field, value]) => value !== undefined && field in NO_META);
  return { ...NO_META, ...own, ...Object.fromEntries(given) };
}

/** What the head becomes on top of what is there when the commit is tried; undefined when it can stay as it is. */
type HeadMove = ((there: HeadMeta | undefined) => Promise<HeadMeta>) | undefined;

/** The head moves only with the status, with what lists show, and once an hour; not with every step. */
function headMove(
  at: RunContext,
  before: Predecessor,
  record: CheckpointRecord,
  change: HeadChange | undefined,
): HeadMove {
  const { meta, version, hash } = record;
  const used = usedAt(meta);
  // A change of status without a step of its own happened in the step before it.
  const step = meta.step ?? before.record.meta.step;
  const moved = { status: meta.status, version, hash, stepNumber: meta.stepNumber, step };
  if ('begins' in before.head) {
    const head = { ...before.head.begins, createdAt: used, touchedAt: used, parent: meta.parent, ...change, ...moved };
    return async () => head;
  }
  const known = before.head.meta;
  if (!change && known.status === meta.status && Math.abs(used - known.touchedAt) < TOUCH_MS) return undefined;
  return async (there = known) => {
    const head = { ...there, ...change, ...moved, touchedAt: Math.max(used, there.touchedAt) };
    if (head.owner === there.owner || !head.key) return head;
    return { ...head, key: await rewrapped(at, there, head.owner) };
  };
}

interface NameMove {
  readonly name: string;
  /** Whether to take it from the checkpoint that has it. */
  readonly take: boolean;
  readonly anchor: number;
}

const TRIES = 10;

/**
 * One conditional write for a checkpoint, in one transaction with the head and a name where those change. Gives the head, or
 * says that an earlier try of this very write had been applied.
 */
async function commit(
  at: RunContext,
  before: Predecessor,
  record: CheckpointRecord,
  moveHead: HeadMove,
  moveName: NameMove | undefined,
): Promise<HeadRecord | 'written before'> {
  let there = 'begins' in before.head ? undefined : before.head;
  for (let attempt = 1; ; attempt++) {
    const head = moveHead && headRecord(at.partition, await moveHead(there?.meta));
    const name = moveName && (await nameWrite(at, record, moveName));
    const writes: Write[] = [{ put: record.stored, when: 'absent' }];
    const headAt = head
      ? writes.push({ put: head.stored, when: there ? { revision: there.revision } : 'absent' }) - 1
      : -1;
    if (name) writes.push(name);
    try {
      await at.records.commit(writes);
      return head ?? (there as HeadRecord);
    } catch (error) {
      if (!(error instanceof ConditionFailedError)) throw error;
      if (error.found.has(0)) return lost(at, record, error.found.get(0), error.found.get(headAt));
      if (!error.found.has(headAt) && !moveName?.take) throw nameTaken(at, record);
      // No checkpoint was written, but the head was renewed, or the name moved: what we change is put on top of that.
      if (error.found.has(headAt)) there = headInstead(at, there, error.found.get(headAt));
      if (attempt >= TRIES) throw new StaleVersionError(at.run, record.version - 1, undefined);
    }
  }
}

/** The head that was found instead of the expected one, if it is of the same life of the run. */
function headInstead(at: RunContext, expected: HeadRecord | undefined, found: StoredRecord | undefined): HeadRecord {
  if (!found) throw runNotFound(at);
  const head = readHead(found);
  if (head.meta.deletedUntil !== undefined) throw runDeleted(at.run, head.meta.deletedUntil);
  if (head.meta.born !== expected?.meta.born)
    throw new StaleVersionError(at.run, expected?.meta.version ?? 0, undefined);
  return head;
}

/** Says what is there instead of the checkpoint; nothing is thrown when it is the one that was to be written. */
function lost(at: RunContext, record: CheckpointRecord, found?: StoredRecord, head?: StoredRecord): 'written before' {
  const until = head && readHead(head).meta.deletedUntil;
  if (until !== undefined) throw runDeleted(at.run, until);
  if (!found) throw new StaleVersionError(at.run, record.version - 1, undefined);
  const there = readCheckpoint(found);
  if (there.meta.emptied === 'deleted' || there.meta.kind === 'delete') throw runDeleted(at.run);
  if (there.meta.kind === 'shred') throw runShredded(at.run);
  if (there.meta.writeId === record.meta.writeId) return 'written before';
  throw new StaleVersionError(at.run, record.version - 1, summaryOf(at.run, there));
}

async function nameWrite(
  at: RunContext,
  { version }: CheckpointRecord,
  { name, take, anchor }: NameMove,
): Promise<Write> {
  const [there] = take ? await at.records.read(at.partition, [nameKey(name)]) : [];
  const put = nameRecord(at.partition, name, { version, anchor });
  return { put, when: there ? { revision: there.revision } : 'absent' };
}

const nameTaken = (at: RunContext, { meta }: CheckpointRecord): HoldpointError =>
  new HoldpointError(
    'NAME_TAKEN',
    `Another checkpoint of run "${at.run}" is named "${meta.name}". Choose another name, or pass \`moveName: true\`.`,
  );

/** Which payloads a checkpoint points at anew, and which no longer: enough to know at any version what is in use. */
function payloadChange(
  before: Root | undefined,
  after: Root,
): Pick<CheckpointMeta, 'payloadsAdded' | 'payloadsDropped'> {
  const old = before ? payloadRefs(before) : new Map();
  const now = payloadRefs(after);
  const added = [...now.keys()].filter((id) => !old.has(id));
  const dropped = [...old.keys()].filter((id) => !now.has(id));
  return {
    payloadsAdded: added.length > 0 ? added : undefined,
    payloadsDropped: dropped.length > 0 ? dropped : undefined,
  };
}
