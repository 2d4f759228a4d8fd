import { readHeadMeta } from '../../lambda/checkpoints/format/meta.ts';
import { checkpointRecord, headRecord, readCheckpoint } from '../../lambda/checkpoints/format/records.ts';
import { withMeta } from '../../lambda/checkpoints/format/side-record.ts';
import type { ApprovalMeta } from '../../lambda/core/approval.ts';
import { currentProposal } from '../../lambda/core/approval-votes.ts';
import { isWaiting } from '../../lambda/core/status.ts';
import { readApprovalMeta } from '../../lambda/runtime/approvals/approval-meta.ts';
import { APPROVAL_KEY_PREFIX, HEAD_KEY, isReservedPartition, parseVersion } from '../../lambda/storage/keys.ts';
import type { StoredRecord, Write } from '../../lambda/storage/ports.ts';

/** One write of a commit, and the stored state that it finds. */
interface WriteContext {
  readonly write: Write;
  /** The record that is stored under the key of the write. */
  readonly stored: StoredRecord | undefined;
  /** The partition of the first write of the commit. */
  readonly home: string;
  /** The version after the newest checkpoint of the write's partition. */
  readonly nextVersion: number;
}

/** A guard that is disabled, to prove that the checks detect its absence. */
export interface Break {
  /** The write that the broken storage makes instead; undefined if it drops the write. */
  readonly write?: (context: WriteContext) => Write | undefined;
  /** The record that the broken storage returns instead of a stored one. */
  readonly read?: (stored: StoredRecord) => StoredRecord;
  /** Whether a commit makes the writes whose conditions hold even though other conditions fail. */
  readonly inParts?: true;
  /** Whether a commit that is sent twice does not recognize its own first attempt. */
  readonly forgetsOwn?: true;
  /** Whether a payload is confirmed before it is stored. */
  readonly payloadsLater?: true;
  /** Whether a commit is confirmed before it is made. */
  readonly commitsLater?: true;
  /** Whether the sender of an early signal does not see that the run has started. */
  readonly hidesStart?: true;
  /** Whether a worker attempts the notifications of agents that it does not have. */
  readonly postponesNotifications?: true;
  /** Whether a process relies on its own clock instead of that of the storage. */
  readonly trustsOwnClock?: true;
}

/** The guards that can be disabled, by name. */
export const BREAKS: Readonly<Record<string, Break>> = {
  /** A checkpoint overwrites another one. */
  absence: { write: (context) => (isCheckpoint(context) ? forceCondition(context) : context.write) },
  /** A head overwrites another one. */
  revision: { write: (context) => (isHead(context) ? forceCondition(context) : context.write) },
  /** A checkpoint is appended after the newest one even if its writer has not seen that one. */
  predecessor: {
    write: (context) => (isCheckpoint(context) && context.stored ? moveToNextVersion(context) : context.write),
  },
  /** A claim does not protect its version from other writers. */
  'claim-version': {
    write: (context) =>
      isCheckpoint(context) && context.stored && readCheckpoint(context.stored).meta.kind === 'claim'
        ? forceCondition(context)
        : context.write,
  },
  /** A run suspends even though an event woke it up in the meantime. */
  wake: {
    write: (context) => (isWaiting(headOf(context)?.status ?? 'READY') ? forceCondition(context) : context.write),
  },
  /** A record may point at bytes that are not stored yet. */
  'payload-first': { payloadsLater: true },
  /** A commit whose response was lost is mistaken for the commit of another writer. */
  'write-id': { forgetsOwn: true },
  /** A cancel leaves approvals pending. */
  withdraw: { write: (context) => (approvalStatus(context) === 'WITHDRAWN' ? undefined : context.write) },
  /** Of two concurrent votes, the later one overwrites the earlier one. */
  quorum: { write: (context) => (approvalStatus(context) !== undefined ? forceCondition(context) : context.write) },
  /** Votes for the request count for changes that are proposed later. */
  edits: { write: (context) => changeApproval(context, countForProposal) },
  /** Everybody counts as a member of the groups of an approval. */
  members: { read: (stored) => (isApproval(stored) ? openToEverybody(stored) : stored) },
  /** A worker that does not have an agent postpones its notifications. */
  notifier: { postponesNotifications: true },
  /** A commit is not atomic. */
  atomic: { inParts: true },
  /** A signal that arrives while its run starts stays in the record for early signals. */
  early: { hidesStart: true },
  /** The lease of a run is not stored. */
  lease: { write: (context) => changeHeadWork(context, (work) => ({ ...work, lease: undefined })) },
  /** A run whose delivery was lost never becomes due. */
  due: { write: (context) => changeHeadWork(context, (work) => ({ ...work, dueAt: undefined })) },
  /** The end of a child run does not wake up its parent. */
  reply: { write: ({ write, home }) => (recordOf(write)?.partition === home ? write : undefined) },
  /** A signal that is sent again counts as another signal. */
  'signal-id': { write: (context) => (recordOf(context.write)?.key.startsWith('i') ? undefined : context.write) },
  /** A process whose clock is wrong does not notice. */
  clock: { trustsOwnClock: true },
  /** A confirmed commit may still be lost. */
  durable: { commitsLater: true },
};

type Work = NonNullable<NonNullable<ReturnType<typeof headOf>>['work']>;

const recordOf = (write: Write) => ('put' in write ? write.put : 'remove' in write ? write.remove : undefined);
const putOf = ({ write }: WriteContext): StoredRecord | undefined => ('put' in write ? write.put : undefined);
const isCheckpoint = (context: WriteContext): boolean => parseVersion(putOf(context)?.key ?? '') > 0;
const isHead = (context: WriteContext): boolean => putOf(context)?.key === HEAD_KEY;

function headOf(context: WriteContext) {
  const meta = isHead(context) ? readHeadMeta(putOf(context)?.meta ?? '') : undefined;
  return meta && 'status' in meta ? meta : undefined;
}

const isApproval = ({ partition, key }: StoredRecord): boolean =>
  key.startsWith(APPROVAL_KEY_PREFIX) && !isReservedPartition(partition);

function approvalStatus(context: WriteContext): unknown {
  const put = putOf(context);
  return put && isApproval(put) ? readApprovalMeta(put).status : undefined;
}

function changeApproval({ write }: WriteContext, change: (meta: ApprovalMeta) => ApprovalMeta): Write {
  if (!('put' in write) || !isApproval(write.put)) return write;
  const { put } = write;
  return { ...write, put: { ...withMeta(put, change(readApprovalMeta(put)), put.lists), revision: put.revision } };
}

function countForProposal(meta: ApprovalMeta): ApprovalMeta {
  const proposal = currentProposal(meta);
  return proposal === undefined ? meta : { ...meta, votes: meta.votes.map((vote) => ({ ...vote, proposal })) };
}

function openToEverybody(stored: StoredRecord): StoredRecord {
  const { members: _members, ...meta } = readApprovalMeta(stored);
  return { ...withMeta(stored, { ...meta, openGroups: true }, stored.lists), revision: stored.revision };
}

/** The write with a condition that the stored record meets. */
function forceCondition({ write, stored }: WriteContext): Write | undefined {
  const when = stored ? { revision: stored.revision } : ('absent' as const);
  if ('put' in write) return { ...write, when };
  return 'remove' in write && when !== 'absent' ? { ...write, when } : undefined;
}

function moveToNextVersion(context: WriteContext): Write {
  const put = putOf(context) as StoredRecord;
  const { meta } = readCheckpoint(put);
  return { put: checkpointRecord(put.partition, context.nextVersion, meta, () => put.body).stored, when: 'absent' };
}

function changeHeadWork(context: WriteContext, change: (work: Work) => Work): Write {
  const meta = headOf(context);
  if (!meta?.work || !('put' in context.write)) return context.write;
  const { stored } = headRecord(context.write.put.partition, { ...meta, work: change(meta.work) });
  return { ...context.write, put: { ...stored, revision: context.write.put.revision } };
}
