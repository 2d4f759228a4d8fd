import { readHeadMeta } from '../../lambda/checkpoints/format/meta.ts';
import { checkpointRecord, headRecord, readCheckpoint } from '../../lambda/checkpoints/format/records.ts';
import { isWaiting } from '../../lambda/core/status.ts';
import { HEAD_KEY, parseVersion } from '../../lambda/storage/keys.ts';
import type { StoredRecord, Write } from '../../lambda/storage/ports.ts';

/** One write of a commit, and what it meets. */
interface Met {
  readonly write: Write;
  readonly there: StoredRecord | undefined;
  /** The partition of the first write of the commit. */
  readonly home: string;
  /** The version behind the newest checkpoint of the write's partition. */
  readonly free: number;
}

/** A guard that is taken out, to see that the checks miss it. */
export interface Break {
  /** What the broken storage makes of a write; undefined when it forgets it. */
  readonly write?: (met: Met) => Write | undefined;
  /** Whether those writes of a commit are made whose conditions hold, though others fail. */
  readonly inParts?: true;
  /** Whether a commit that is sent twice meets itself as a stranger. */
  readonly forgetsOwn?: true;
  /** Whether a payload is confirmed before it is stored. */
  readonly payloadsLater?: true;
  /** Whether a commit is confirmed before it is made. */
  readonly commitsLater?: true;
  /** Whether who kept an early signal does not see that the run has started. */
  readonly hidesStart?: true;
}

/** The guards that can be taken out, by name. */
export const BREAKS: Readonly<Record<string, Break>> = {
  /** A checkpoint is written over another. */
  absence: { write: (met) => (isCheckpoint(met) ? forced(met) : met.write) },
  /** A head is written over another. */
  revision: { write: (met) => (isHead(met) ? forced(met) : met.write) },
  /** A checkpoint is put behind whatever is newest, whether its writer has seen that or not. */
  predecessor: { write: (met) => (isCheckpoint(met) && met.there ? moved(met) : met.write) },
  /** A claim keeps nobody from its version. */
  'claim-version': {
    write: (met) =>
      isCheckpoint(met) && met.there && readCheckpoint(met.there).meta.kind === 'claim' ? forced(met) : met.write,
  },
  /** Who lies down does not see who woke him meanwhile. */
  wake: { write: (met) => (isWaiting(headOf(met)?.status ?? 'READY') ? forced(met) : met.write) },
  /** A record may point at bytes that are not stored yet. */
  'payload-first': { payloadsLater: true },
  /** A commit whose answer was lost is taken for somebody else's. */
  'write-id': { forgetsOwn: true },
  /** A cancel leaves approvals open. */
  withdraw: { write: (met) => (approvalStatus(met) === 'WITHDRAWN' ? undefined : met.write) },
  /** Of two votes at once the later one stays. */
  quorum: { write: (met) => (approvalStatus(met) !== undefined ? forced(met) : met.write) },
  /** A commit is made in parts. */
  atomic: { inParts: true },
  /** A signal that is kept while its run starts stays where it is. */
  early: { hidesStart: true },
  /** Nobody sees who has a run. */
  lease: { write: (met) => withHead(met, (work) => ({ ...work, lease: undefined })) },
  /** Nobody looks at a run that was not delivered. */
  due: { write: (met) => withHead(met, (work) => ({ ...work, dueAt: undefined })) },
  /** A parent is not told that its child has ended. */
  reply: { write: ({ write, home }) => (recordOf(write)?.partition === home ? write : undefined) },
  /** A signal that is sent again is another one. */
  'signal-id': { write: (met) => (recordOf(met.write)?.key.startsWith('i') ? undefined : met.write) },
  /** What is confirmed may still be lost. */
  durable: { commitsLater: true },
};

type Work = NonNullable<NonNullable<ReturnType<typeof headOf>>['work']>;

const recordOf = (write: Write) => ('put' in write ? write.put : 'remove' in write ? write.remove : undefined);
const putOf = ({ write }: Met): StoredRecord | undefined => ('put' in write ? write.put : undefined);
const isCheckpoint = (met: Met): boolean => parseVersion(putOf(met)?.key ?? '') > 0;
const isHead = (met: Met): boolean => putOf(met)?.key === HEAD_KEY;

function headOf(met: Met) {
  const meta = isHead(met) ? readHeadMeta(putOf(met)?.meta ?? '') : undefined;
  return meta && 'status' in meta ? meta : undefined;
}

function approvalStatus(met: Met): unknown {
  const put = putOf(met);
  return put?.key.startsWith('a') ? JSON.parse(put.meta.slice(1)).status : undefined;
}

/** The write with a condition that holds. */
function forced({ write, there }: Met): Write | undefined {
  const when = there ? { revision: there.revision } : ('absent' as const);
  if ('put' in write) return { ...write, when };
  return 'remove' in write && when !== 'absent' ? { ...write, when } : undefined;
}

function moved(met: Met): Write {
  const put = putOf(met) as StoredRecord;
  const { meta } = readCheckpoint(put);
  return { put: checkpointRecord(put.partition, met.free, meta, () => put.body).stored, when: 'absent' };
}

function withHead(met: Met, change: (work: Work) => Work): Write {
  const meta = headOf(met);
  if (!meta?.work || !('put' in met.write)) return met.write;
  const { stored } = headRecord(met.write.put.partition, { ...meta, work: change(meta.work) });
  return { ...met.write, put: { ...stored, revision: met.write.put.revision } };
}
