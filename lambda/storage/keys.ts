import { createHash } from 'node:crypto';
import { escapeId, unescapeId } from '../core/ids.ts';

// Every key of the table is built here. The records of a run share one partition, `<tenant>/<run>`; the first character
// of the key says what kind of record it is:
//
//   a  approval                          f  fork of the run
//   b  approval in an approver's inbox   i  id of a signal
//   c  checkpoint; `cz` is the head      n  name of a checkpoint
//   d  output of a running step          w  signal that arrived before the run started
//   e  event
//
// `@` is always escaped in ids, so no run or tenant collides with the partitions `<tenant>/@agents`, `<tenant>/@cache`,
// `<tenant>/@collection`, `<tenant>/@delegations` and `@token/<hash>`.

/** A range of the keys of a partition, both ends included. */
export interface KeyRange {
  readonly from: string;
  readonly to: string;
}

/** The largest version: ten digits, which sort as text. */
export const MAX_VERSION = 9_999_999_999;

export const HEAD_KEY = 'cz';
export const versionKey = (version: number): string => `c${String(version).padStart(10, '0')}`;
export const nameKey = (name: string): string => `n${escapeId('checkpoint name', name)}`;

/** The keys of all checkpoints in order, without the head and with the head right after them. */
export const CHECKPOINT_KEYS: KeyRange = { from: 'c0', to: 'c:' };
export const CHECKPOINT_AND_HEAD_KEYS: KeyRange = { from: CHECKPOINT_KEYS.from, to: HEAD_KEY };

/** What a key names: a checkpoint, the head, a name, or undefined for a side record. */
export function parseKey(key: string): { readonly version: number } | { readonly name: string } | 'head' | undefined {
  if (key === HEAD_KEY) return 'head';
  if (/^c\d{10}$/.test(key)) return { version: Number(key.slice(1)) };
  return key.startsWith('n') ? { name: unescapeId(key.slice(1)) } : undefined;
}

/** The version in a checkpoint's key; 0 for any other key. */
export function parseVersion(key: string): number {
  const parsed = parseKey(key);
  return typeof parsed === 'object' && 'version' in parsed ? parsed.version : 0;
}

/** The prefixes of the ids of payloads that no record refers to at first: uploads, and the payloads of invocations. */
export const UPLOAD_ID_PREFIX = 'upload-';
export const INVOCATION_ID_PREFIX = 'invocation-';

/** The key of the record with which a run refers to one of its forks. */
export const forkKey = (run: string, uid: string): string => `f${escapeId('run', run)} ${uid}`;
export const FORK_KEYS: KeyRange = { from: 'f', to: 'g' };

/** The key of output of a running step, in the order of time; `suffix` distinguishes writers. */
export const liveOutputKey = (time: number, suffix = ''): string => `d${timeOrder(time)}${suffix}`;
export const LIVE_OUTPUT_KEYS: KeyRange = { from: 'd', to: 'd~' };

export const eventKey = (number: number): string => `e${String(number).padStart(10, '0')}`;

/** The key of the record that makes a second signal with the same id a duplicate. */
export const signalIdKey = (id: string): string => `i${escapeId('signal', id)}`;

/** The key of a signal that arrived before its run started. */
export const earlySignalKey = (id: string): string => `w${escapeId('signal', id)}`;
export const EARLY_SIGNAL_KEYS: KeyRange = { from: 'w', to: 'w~' };

/** The first character of the keys of approvals. */
export const APPROVAL_KEY_PREFIX = 'a';
export const approvalKey = (id: string): string => `${APPROVAL_KEY_PREFIX}${escapeId('approval', id)}`;
export const APPROVAL_KEYS: KeyRange = { from: 'a', to: 'b' };

/** The key of the record that puts an approval into an approver's inbox. Escaped ids contain no space. */
export const inboxKey = (id: string, approver: string): string =>
  `b${escapeId('approval', id)} ${escapeId('approver', approver)}`;

/** The approval id in the key of an approval or an inbox record; undefined for any other key. */
export const approvalIdFromKey = (key: string): string | undefined =>
  /^[ab]/.test(key) ? unescapeId(key.slice(1).split(' ', 1)[0] ?? '') : undefined;

/** The partition with the paused agents of a tenant, and the key of one of them. */
export const agentsPartition = (tenant: string): string => `${escapeId('tenant', tenant)}/@agents`;
export const pausedAgentKey = (agent: string): string => `p${escapeId('agent', agent)}`;

/** The partition of the cached results that the runs of a tenant share. */
export const cachePartition = (tenant: string): string => `${escapeId('tenant', tenant)}/@cache`;

/** The partition with the progress of the scheduled collection of payloads, and the key of its record. */
export const collectionPartition = (tenant: string): string => `${escapeId('tenant', tenant)}/@collection`;
export const COLLECTION_KEY = 'p';

/** The partition with the delegations of a tenant, and the key of the one of a person. */
export const delegationsPartition = (tenant: string): string => `${escapeId('tenant', tenant)}/@delegations`;
export const delegationKey = (person: string): string => `p${escapeId('approver', person)}`;

/** The partition of an approval link, named by the hash of its token, and the key of its record. */
export const TOKEN_PARTITION_PREFIX = '@token/';
export const tokenPartition = (hash: string): string => `${TOKEN_PARTITION_PREFIX}${hash}`;
export const TOKEN_KEY = 't';

/** Whether a partition holds something other than a run. */
export const isReservedPartition = (partition: string): boolean =>
  partition.includes('/@') || partition.startsWith('@');

/** The number of shards of the due list; a run always stays in the same shard. */
export const DUE_SHARD_COUNT = 8;

/** The shards of the due list, by number. */
export const SHARDS = [0, 1, 2, 3, 4, 5, 6, 7] as const satisfies { readonly length: typeof DUE_SHARD_COUNT };

/** The group of a shard in the due list; `*` for the pattern of all of them. */
export const shardGroup = (shard: number | '*'): string => `due/${shard}`;

/** The group of the due list that a partition belongs to. */
export const dueGroup = (partition: string): string =>
  shardGroup((createHash('sha256').update(partition).digest()[0] ?? 0) % DUE_SHARD_COUNT);

/** The list group with the records of one tenant and one kind. */
export const tenantGroup = (tenant: string, kind: string): string => `${escapeId('tenant', tenant)}/${kind}`;

/** The group of the owner list that serves as an approver's inbox; the unescaped `@` keeps it apart from owners. */
export const inboxGroup = (tenant: string, approver: string): string =>
  `${tenantGroup(tenant, '@inbox')}/${escapeId('approver', approver)}`;

/** The order of delegations in the inbox of the delegate: before every approval. */
export const DELEGATION_ORDER = '0';

/** A time as text that sorts in order of time. */
export const timeOrder = (time: number): string => String(Math.max(0, Math.floor(time))).padStart(15, '0');
