import { checkRecordWrites, conditionHolds, type RecordWrite, writeKey } from './check-writes.ts';
import { decodeCursor, type PositionedRecord, takePage } from './paging.ts';
import {
  ConditionFailedError,
  type ListEntries,
  type ListName,
  type PageOptions,
  type PayloadStore,
  type RecordKey,
  type RecordStore,
  type Storage,
  type StoredRecord,
} from './ports.ts';
import { SortedMap } from './sorted-map.ts';

const INLINE_BYTES = 8192;

/** A storage in the memory of this process. `clock` provides the write time of payloads. */
export function memoryStorage({ clock = Date.now }: { readonly clock?: () => number } = {}): Storage {
  return { records: memoryRecordStore(), payloads: memoryPayloadStore(clock) };
}

function memoryRecordStore(): RecordStore {
  const partitions = new Map<string, SortedMap<StoredRecord>>();
  const lists = new Map<string, SortedMap<StoredRecord>>();
  const find = ({ partition, key }: RecordKey) => partitions.get(partition)?.get(key);

  function apply(write: RecordWrite): void {
    const { partition, key } = writeKey(write);
    const before = find({ partition, key });
    for (const { list, entry } of before ? toListEntries(before) : []) remove(lists, list, entry);
    if ('remove' in write) {
      remove(partitions, partition, key);
      return;
    }
    const record = copyRecord(write.put);
    insert(partitions, partition, key, record);
    for (const { list, entry } of toListEntries(record)) insert(lists, list, entry, record);
  }

  return {
    maxInlineBytes: INLINE_BYTES,
    compressesSmallBodies: true,
    clockAheadMs: () => 0,
    async read(partition, keys) {
      return [...new Set(keys)].flatMap((key) => find({ partition, key }) ?? []).map(copyRecord);
    },
    async range(partition, options = {}) {
      return takePage(walk(partitions.get(partition), 1, options, copyRecord), options.limit);
    },
    async list(list, group, options = {}) {
      return takePage(walk(lists.get(listId(list, group)), 3, options, toListedRecord), options.limit);
    },
    async commit(given) {
      const writes = checkRecordWrites(given);
      const found = new Map<number, StoredRecord | undefined>();
      for (const [i, write] of writes.entries()) {
        const record = find(writeKey(write));
        if (!conditionHolds(write, record)) found.set(i, record && copyRecord(record));
      }
      if (found.size > 0) throw new ConditionFailedError(found);
      writes.forEach(apply);
    },
    async close() {},
  };
}

// NUL sorts before every character of keys and orders, so joined text sorts like its parts.
const SEPARATOR = '\0';

const listId = (list: ListName, group: string): string => `${list}${SEPARATOR}${group}`;

function toListEntries({ partition, key, lists: listEntries = {} }: StoredRecord): { list: string; entry: string }[] {
  return (['status', 'owner', 'due'] as const).flatMap((list) => {
    const listEntry = listEntries[list];
    return listEntry
      ? [{ list: listId(list, listEntry.group), entry: [listEntry.order, partition, key].join(SEPARATOR) }]
      : [];
  });
}

function insert(maps: Map<string, SortedMap<StoredRecord>>, name: string, entry: string, record: StoredRecord): void {
  const map = maps.get(name) ?? new SortedMap();
  map.set(entry, record);
  maps.set(name, map);
}

function remove(maps: Map<string, SortedMap<StoredRecord>>, name: string, entry: string): void {
  const map = maps.get(name);
  map?.delete(entry);
  if (map?.size === 0) maps.delete(name);
}

/** The records within the bounds and after the cursor. Entries have `parts` parts; the bounds apply to the first. */
function* walk(
  map: SortedMap<StoredRecord> | undefined,
  parts: number,
  { from = '', to, newestFirst = false, after }: PageOptions,
  project: (record: StoredRecord) => StoredRecord,
): Generator<PositionedRecord> {
  const cursorKey = after === undefined ? undefined : decodeCursor(after, parts).join(SEPARATOR);
  const end = to === undefined ? undefined : `${to}${SEPARATOR}\uffff`;
  for (const [entry, record] of map?.entries(cursorKey ?? (newestFirst ? end : from), newestFirst) ?? []) {
    const position = entry.split(SEPARATOR);
    const [boundPart = ''] = position;
    if (entry === cursorKey) continue;
    if (newestFirst ? boundPart < from : to !== undefined && boundPart > to) return;
    yield { record: project(record), position };
  }
}

function copyRecord({ partition, key, revision, meta, body, lists: listEntries }: StoredRecord): StoredRecord {
  return {
    partition,
    key,
    revision,
    meta,
    ...(body && { body: new Uint8Array(body) }),
    ...(listEntries && { lists: copyEntries(listEntries) }),
  };
}

/** The same as `structuredClone`, which takes longer than the rest of a write. */
const copyEntries = (entries: ListEntries): ListEntries =>
  Object.fromEntries(Object.entries(entries).map(([list, entry]) => [list, { ...entry }]));

const toListedRecord = ({ partition, key, revision, meta }: StoredRecord): StoredRecord => ({
  partition,
  key,
  revision,
  meta,
});

function memoryPayloadStore(clock: () => number): PayloadStore {
  const partitions = new Map<string, Map<string, { bytes: Uint8Array; writtenAt: number }>>();

  function storePayload(partition: string, id: string, bytes: Uint8Array): void {
    const payloads = partitions.get(partition) ?? new Map();
    payloads.set(id, { bytes, writtenAt: clock() });
    partitions.set(partition, payloads);
  }

  return {
    async put(partition, id, content) {
      storePayload(
        partition,
        id,
        content instanceof Uint8Array ? new Uint8Array(content) : await concatChunks(content),
      );
    },
    async open(partition, id) {
      const payload = partitions.get(partition)?.get(id);
      return payload && splitIntoChunks(payload.bytes);
    },
    async copy(from, to) {
      const payload = partitions.get(from.partition)?.get(from.id);
      if (payload) storePayload(to.partition, to.id, payload.bytes);
      return payload !== undefined;
    },
    async *list(scope, after = '') {
      for (const [partition, payloads] of [...partitions].sort(([a], [b]) => (a < b ? -1 : 1))) {
        if (partition <= after || (scope !== undefined && !`${partition}/`.startsWith(`${scope}/`))) continue;
        for (const [id, { bytes, writtenAt }] of [...payloads]) yield { partition, id, size: bytes.length, writtenAt };
      }
    },
    async remove(partition, ids) {
      const payloads = partitions.get(partition);
      for (const id of ids) payloads?.delete(id);
      if (payloads?.size === 0) partitions.delete(partition);
    },
    async close() {},
  };
}

async function concatChunks(content: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(new Uint8Array(chunk));
  return new Uint8Array(Buffer.concat(chunks));
}

const CHUNK_BYTES = 256 * 1024;

async function* splitIntoChunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += CHUNK_BYTES) yield bytes.slice(offset, offset + CHUNK_BYTES);
}
