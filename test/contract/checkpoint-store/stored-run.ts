import { createHash, randomUUID } from 'node:crypto';
import {
  type CheckpointMeta,
  encodeCheckpointMeta,
  encodeMeta,
  type HeadMeta,
  isUnreadable,
  readCheckpointMeta,
  type Unreadable,
} from '../../../lambda/checkpoints/format/meta.ts';
import { readHead } from '../../../lambda/checkpoints/format/records.ts';
import { toPartition } from '../../../lambda/core/ids.ts';
import { HEAD_KEY, parseVersion, versionKey } from '../../../lambda/storage/keys.ts';
import type { PageOptions, Storage, StoredPayload, StoredRecord } from '../../../lambda/storage/ports.ts';

/** The records and payloads of one run as the storage has them, to look at and to tamper with. */
export interface StoredRun {
  readonly partition: string;
  records(): Promise<readonly StoredRecord[]>;
  record(key: string | number): Promise<StoredRecord>;
  /** The readable parts of all checkpoints, in order. */
  metas(): Promise<readonly CheckpointMeta[]>;
  head(): Promise<HeadMeta>;
  /** Changes a record, and keeps its revision unless the change sets another. */
  alter(key: string | number, change: (record: StoredRecord) => Partial<StoredRecord>): Promise<void>;
  /** Replaces the record under its key. */
  replace(record: StoredRecord): Promise<void>;
  /** Changes what the head says. */
  alterHead(change: Partial<HeadMeta>): Promise<void>;
  remove(key: string | number): Promise<void>;
  payloads(): Promise<readonly StoredPayload[]>;
  bytes(id: string): Promise<Buffer>;
  alterPayload(id: string, change: (bytes: Buffer) => Uint8Array): Promise<void>;
}

export function storedRun(storage: Storage, tenant: string, run: string): StoredRun {
  const partition = toPartition(tenant, run);
  const keyOf = (key: string | number) => (typeof key === 'number' ? versionKey(key) : key);

  async function records(): Promise<readonly StoredRecord[]> {
    const found: StoredRecord[] = [];
    let page: PageOptions | undefined = {};
    while (page) {
      const { records, next } = await storage.records.range(partition, page);
      found.push(...records);
      page = next === undefined ? undefined : { after: next };
    }
    return found;
  }

  async function record(key: string | number): Promise<StoredRecord> {
    const [found] = await storage.records.read(partition, [keyOf(key)]);
    if (!found) throw new Error(`There is no record ${key} in ${partition}.`);
    return found;
  }

  async function replace(put: StoredRecord): Promise<void> {
    const { revision } = await record(put.key);
    await storage.records.commit([{ put, when: { revision } }]);
  }

  async function bytes(id: string): Promise<Buffer> {
    const content = await storage.payloads.open(partition, id);
    if (!content) throw new Error(`There is no payload ${id} in ${partition}.`);
    const pieces: Uint8Array[] = [];
    for await (const piece of content) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  return {
    partition,
    records,
    record,
    bytes,
    async metas() {
      const checkpoints = (await records()).filter(({ key }) => parseVersion(key) > 0);
      return checkpoints.map(({ meta }) => readCheckpointMeta(meta)).filter(isReadable);
    },
    async head() {
      return readHead(await record(HEAD_KEY)).meta;
    },
    replace,
    async alter(key, change) {
      const before = await record(key);
      await replace({ ...before, ...change(before), partition, key: before.key });
    },
    async alterHead(change) {
      const before = await record(HEAD_KEY);
      const meta = encodeMeta({ ...readHead(before).meta, ...change });
      await replace({ ...before, revision: randomUUID(), meta });
    },
    async remove(key) {
      const before = await record(key);
      await storage.records.commit([{ remove: before, when: { revision: before.revision } }]);
    },
    async payloads() {
      const found: StoredPayload[] = [];
      for await (const payload of storage.payloads.list(partition)) found.push(payload);
      return found;
    },
    async alterPayload(id, change) {
      await storage.payloads.put(partition, id, Uint8Array.from(change(await bytes(id))));
    },
  };
}

const isReadable = (meta: CheckpointMeta | Unreadable): meta is CheckpointMeta => !isUnreadable(meta);

/** A checkpoint's record that says something else, under the revision that it has. */
export function withMeta(record: StoredRecord, change: Partial<CheckpointMeta>): StoredRecord {
  const meta = readCheckpointMeta(record.meta);
  if (isUnreadable(meta)) throw new Error(`The record ${record.key} cannot be read.`);
  return { ...record, meta: encodeCheckpointMeta({ ...meta, ...change }) };
}

/** A record as somebody would forge it who knows how hashes are made but has no key. */
export function rehash(record: StoredRecord): StoredRecord {
  const { partition, key, meta, body = new Uint8Array() } = record;
  const where = `${partition}\n${parseVersion(key)}\n${meta.length}\n${meta}`;
  const revision = createHash('sha256').update(where).update(body).digest('base64url').slice(0, 27);
  return { ...record, revision };
}

/** The bytes with one bit turned over. */
export function flipBit(bytes: Uint8Array, at = bytes.length >> 1): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}
