import { WaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { MAX_VERSION, nameKey } from '../storage/keys.ts';
import { ConditionFailedError, type StoredRecord, type Write } from '../storage/ports.ts';
import type { RunContext } from './context.ts';
import { importRunKey } from './encryption/cipher-for.ts';
import { type CheckpointMeta, DEFAULT_META, type HeadMeta } from './format/meta.ts';
import {
  type CheckpointRecord,
  type HeadRecord,
  headRecord,
  lastUsedAt,
  MAX_HEAD_LAG_MS,
  nameRecord,
  randomId,
  readCheckpoint,
  readHead,
  toCheckpointSummary,
} from './format/records.ts';
import { runDeleted, runNotFound, runShredded } from './run-errors.ts';
import { StaleVersionError } from './stale-version-error.ts';

/** Changed fields of the head; undefined removes a field. */
export type HeadChange = Partial<
  Pick<
    HeadMeta,
    | 'agent'
    | 'owner'
    | 'requestedBy'
    | 'tags'
    | 'parent'
    | 'forked'
    | 'retentionMs'
    | 'key'
    | 'shredded'
    | 'deletedUntil'
    | 'work'
    | 'step'
    | 'stepNumber'
  >
>;

/**
 * A change of the head, or a function that computes it from the current head at each attempt and may throw to reject.
 */
export type HeadUpdate = HeadChange | ((current: HeadMeta) => HeadChange);

/** What a checkpoint follows. The first one follows version 0, which has no head and no content. */
export interface Predecessor {
  readonly record: Pick<CheckpointRecord, 'version' | 'hash' | 'meta'>;
  readonly head: HeadRecord | { readonly newRun: Pick<HeadMeta, 'uid' | 'key'> };
}

/** Metadata fields of a checkpoint; undefined fields count as absent. */
export type MetaFields = { readonly [F in keyof CheckpointMeta]?: CheckpointMeta[F] | undefined };

/** The metadata of the checkpoint that follows. */
export function nextMeta(at: RunContext, before: Predecessor['record'], fields: MetaFields): CheckpointMeta {
  if (before.version >= MAX_VERSION) {
    throw new WaitstateError('INVALID_INPUT', `A run can have at most ${MAX_VERSION} checkpoints.`);
  }
  const time = at.now();
  if (!Number.isFinite(time)) throw invalidInput('The result of `clock`', 'the time in milliseconds', time);
  // A writer whose clock is behind must not make the run expire earlier.
  const lastUsed = Math.max(time, lastUsedAt(before.meta));
  const own = {
    time,
    usedAt: lastUsed > time ? lastUsed : undefined,
    writer: at.writer,
    writeId: randomId(6),
    previous: before.hash,
  };
  const given = Object.entries(fields).filter(([field, value]) => value !== undefined && field in DEFAULT_META);
  return { ...DEFAULT_META, ...own, ...Object.fromEntries(given) };
}

/** Computes the new head from the current one at each attempt; undefined when the head stays unchanged. */
export type HeadMove = ((current: HeadMeta | undefined) => Promise<HeadMeta>) | undefined;

/**
 * The head is updated only when the status or listed fields change, and once an hour; not at every step. A checkpoint
 * that does not set the status keeps the head's, because an event may have changed it since.
 */
export function createHeadMove(
  at: RunContext,
  before: Predecessor,
  record: CheckpointRecord,
  update: HeadUpdate | undefined,
  setsStatus = false,
): HeadMove {
  const toHeadChange = typeof update === 'function' ? update : () => update;
  const { meta, version, hash } = record;
  const lastUsed = lastUsedAt(meta);
  const { step, stepNumber } = meta;
  const movedFields = { version, hash, stepNumber, step };
  if ('newRun' in before.head) {
    const newHead = {
      ...before.head.newRun,
      createdAt: lastUsed,
      updatedAt: lastUsed,
      parent: meta.parent,
      ...movedFields,
    };
    const head = { ...newHead, status: meta.status, ...toHeadChange({ ...newHead, status: meta.status }) };
    return async () => head;
  }
  const known = before.head.meta;
  if (
    !update &&
    (!setsStatus || known.status === meta.status) &&
    Math.abs(lastUsed - known.updatedAt) < MAX_HEAD_LAG_MS
  )
    return undefined;
  return async (current = known) => {
    const status = setsStatus ? meta.status : current.status;
    const head = {
      ...current,
      ...movedFields,
      // The rules are loaded only for checkpoints that are not of a step.
      ...((step === undefined || current.status === 'ENDING') &&
        (await (await import('./lists/step-of-status.ts')).stepOfStatus(at, before.record, record, current, status))),
      ...toHeadChange(current),
      status,
      updatedAt: Math.max(lastUsed, current.updatedAt),
    };
    if (head.owner === current.owner || !head.key) return head;
    return { ...head, key: await (await importRunKey()).rewrapKey(at, current, head.owner) };
  };
}

/** The name of a new checkpoint. */
export interface NameMove {
  readonly name: string;
  /** Whether to move the name from the checkpoint that has it. */
  readonly replace: boolean;
  readonly anchor: number;
}

const MAX_ATTEMPTS = 10;

/**
 * Writes a checkpoint conditionally, in one transaction with the head, a name and side records where needed. Returns
 * the head, or 'already written' when an earlier attempt of the same write was applied. When only conditions of side
 * writes fail, throws ConditionFailedError with their indexes in `sideWrites`.
 */
export async function commitCheckpoint(
  at: RunContext,
  before: Predecessor,
  record: CheckpointRecord,
  moveHead: HeadMove,
  moveName: NameMove | undefined,
  sideWrites: readonly Write[] = [],
): Promise<HeadRecord | 'already written'> {
  let naming = moveName;
  let current = 'newRun' in before.head ? undefined : before.head;
  for (let attempt = 1; ; attempt++) {
    const head = moveHead && headRecord(at.partition, await moveHead(current?.meta));
    const name = naming && (await nameWrite(at, record, naming));
    const writes: Write[] = [{ put: record.stored, when: 'absent' }];
    const headIndex = head
      ? writes.push({ put: head.stored, when: current ? { revision: current.revision } : 'absent' }) - 1
      : -1;
    if (name) writes.push(name);
    const sideIndex = writes.push(...sideWrites) - sideWrites.length;
    try {
      await at.records.commit(writes);
      return head ?? (current as HeadRecord);
    } catch (error) {
      if (!(error instanceof ConditionFailedError)) throw error;
      if (error.found.has(0)) return explainConflict(at, record, error.found.get(0), error.found.get(headIndex));
      if (!error.found.has(headIndex)) {
        const failedSideWrites = new Map([...error.found].map(([index, found]) => [index - sideIndex, found]));
        failedSideWrites.delete(-1);
        if (failedSideWrites.size > 0) throw new ConditionFailedError(failedSideWrites, error);
        if (naming && !naming.replace) {
          (await import('./lists/check-name-is-free.ts')).checkNameIsFree(at, record, error.found.get(sideIndex - 1));
          naming = { ...naming, replace: true };
        }
      }
      // The version is still free, but the head changed or the name moved. Apply our change on top of that.
      if (error.found.has(headIndex)) current = readCurrentHead(at, current, error.found.get(headIndex));
      if (attempt >= MAX_ATTEMPTS) throw new StaleVersionError(at.run, record.version - 1, undefined);
    }
  }
}

/** The current head, which differs from the expected one; throws unless it belongs to the same run. */
function readCurrentHead(
  at: RunContext,
  expected: HeadRecord | undefined,
  found: StoredRecord | undefined,
): HeadRecord {
  if (!found) throw runNotFound(at);
  const head = readHead(found);
  if (head.meta.deletedUntil !== undefined) throw runDeleted(at.run, head.meta.deletedUntil);
  if (head.meta.uid !== expected?.meta.uid) throw new StaleVersionError(at.run, expected?.meta.version ?? 0, undefined);
  return head;
}

/** Throws the reason why the version is taken; returns when this very write took it. */
function explainConflict(
  at: RunContext,
  record: CheckpointRecord,
  found?: StoredRecord,
  head?: StoredRecord,
): 'already written' {
  const until = head && readHead(head).meta.deletedUntil;
  if (until !== undefined) throw runDeleted(at.run, until);
  if (!found) throw new StaleVersionError(at.run, record.version - 1, undefined);
  const current = readCheckpoint(found);
  if (current.meta.emptied === 'deleted' || current.meta.kind === 'delete') throw runDeleted(at.run);
  if (current.meta.kind === 'shred') throw runShredded(at.run);
  if (current.meta.writeId === record.meta.writeId) return 'already written';
  throw new StaleVersionError(at.run, record.version - 1, toCheckpointSummary(at.run, current));
}

async function nameWrite(
  at: RunContext,
  { version }: CheckpointRecord,
  { name, replace, anchor }: NameMove,
): Promise<Write> {
  const [current] = replace ? await at.records.read(at.partition, [nameKey(name)]) : [];
  const put = nameRecord(at.partition, name, { version, anchor });
  return { put, when: current ? { revision: current.revision } : 'absent' };
}
