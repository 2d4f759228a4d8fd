import { createHash } from 'node:crypto';
import { escapeId, unescapeId } from '../core/ids.ts';

// Every key of the table is made here. The records of a run share one partition, `<tenant>/<run>`; the first character
// of the key says what a record is:
//
//   a  approval           f  fork that began here     w  signal that came before the run was started
//   b  inbox of an approver    i  id of a signal         c  checkpoint; `cz` is the head
//   e  event              n  name of a checkpoint
//
// `@` is always escaped in ids, so that no run or tenant meets the partitions `<tenant>/@agents`, `<tenant>/@cache` and
// `@token/<hash>`.

/** A part of the keys of a partition, in order. */
export interface KeyRange {
  readonly from: string;
  readonly to: string;
}

/** The largest version; ten digits order as text. */
export const MAX_VERSION = 9_999_999_999;

export const HEAD_KEY = 'cz';
export const versionKey = (version: number): string => `c${String(version).padStart(10, '0')}`;
export const nameKey = (name: string): string => `n${escapeId('checkpoint name', name)}`;

/** The keys of all checkpoints, in order, and of these with the head right behind. */
export const CHECKPOINT_KEYS: KeyRange = { from: 'c0', to: 'c:' };
export const CHECKPOINT_AND_HEAD_KEYS: KeyRange = { from: CHECKPOINT_KEYS.from, to: HEAD_KEY };

/** What a key names: a checkpoint, the head, a name, or undefined for a side record. */
export function parseKey(key: string): { readonly version: number } | { readonly name: string } | 'head' | undefined {
  if (key === HEAD_KEY) return 'head';
  if (/^c\d{10}$/.test(key)) return { version: Number(key.slice(1)) };
  return key.startsWith('n') ? { name: unescapeId(key.slice(1)) } : undefined;
}

/** The version of a checkpoint's key; 0 for any other. */
export function parseVersion(key: string): number {
  const parsed = parseKey(key);
  return typeof parsed === 'object' && 'version' in parsed ? parsed.version : 0;
}

/** The record by which a run knows a fork of it. */
export const forkKey = (run: string, born: string): string => `f${escapeId('run', run)} ${born}`;
export const FORK_KEYS: KeyRange = { from: 'f', to: 'g' };

export const eventKey = (number: number): string => `e${String(number).padStart(10, '0')}`;

/** The record that makes a second signal with the same id a duplicate. */
export const signalIdKey = (id: string): string => `i${escapeId('signal', id)}`;

/** A signal that waits for its run to be started. */
export const earlySignalKey = (id: string): string => `w${escapeId('signal', id)}`;
export const EARLY_SIGNAL_KEYS: KeyRange = { from: 'w', to: 'w~' };

/** The first character of the keys of approvals. */
export const APPROVAL_KEY_PREFIX = 'a';
export const approvalKey = (id: string): string => `${APPROVAL_KEY_PREFIX}${escapeId('approval', id)}`;
export const APPROVAL_KEYS: KeyRange = { from: 'a', to: 'b' };

/** The record that puts an approval into the inbox of an approver. A space is in no escaped id. */
export const inboxKey = (id: string, approver: string): string =>
  `b${escapeId('approval', id)} ${escapeId('approver', approver)}`;

/** The approval that a record of an approval or of an inbox is about; undefined for any other key. */
export const approvalIdFromKey = (key: string): string | undefined =>
  /^[ab]/.test(key) ? unescapeId(key.slice(1).split(' ', 1)[0] ?? '') : undefined;

/** The partition in which the agents of a tenant are paused, and the key of one of them. */
export const agentsPartition = (tenant: string): string => `${escapeId('tenant', tenant)}/@agents`;
export const pausedAgentKey = (agent: string): string => `p${escapeId('agent', agent)}`;

/** The partition of the results that the runs of a tenant share. */
export const cachePartition = (tenant: string): string => `${escapeId('tenant', tenant)}/@cache`;

/** The partition of an approval link, by the hash of its token, and the key in it. */
export const TOKEN_PARTITION_PREFIX = '@token/';
export const tokenPartition = (hash: string): string => `${TOKEN_PARTITION_PREFIX}${hash}`;
export const TOKEN_KEY = 't';

/** Whether a partition belongs to no run. */
export const isReservedPartition = (partition: string): boolean =>
  partition.includes('/@') || partition.startsWith('@');

/** The number of shards of the due list; a run is always in the same one. */
export const DUE_SHARD_COUNT = 8;

/** The shards of the due list, by number. */
export const SHARDS = [0, 1, 2, 3, 4, 5, 6, 7] as const satisfies { readonly length: typeof DUE_SHARD_COUNT };

/** The group of a shard in the due list; `*` for the pattern of all of them. */
export const shardGroup = (shard: number | '*'): string => `due/${shard}`;

/** The group of the due list that a partition belongs to. */
export const dueGroup = (partition: string): string =>
  shardGroup((createHash('sha256').update(partition).digest()[0] ?? 0) % DUE_SHARD_COUNT);

/** The group of a list that holds the records of one tenant and one kind. */
export const tenantGroup = (tenant: string, kind: string): string => `${escapeId('tenant', tenant)}/${kind}`;

/** The group of the owner list that is one approver's inbox; no owner has an unescaped `@`. */
export const inboxGroup = (tenant: string, approver: string): string =>
  `${tenantGroup(tenant, '@inbox')}/${escapeId('approver', approver)}`;

/** A time as the lists order it. */
export const timeOrder = (time: number): string => String(Math.max(0, Math.floor(time))).padStart(15, '0');
