import type { StreamRecord } from '../../lambda/handlers/stream-records.ts';
import { type Item, primaryKey, toItem } from '../../lambda/storage/dynamodb/items.ts';
import { TABLE } from '../../lambda/storage/dynamodb/table.ts';
import type {
  Page,
  PayloadStore,
  RecordKey,
  RecordStore,
  Storage,
  StoredRecord,
  Write,
} from '../../lambda/storage/ports.ts';
import { capacityRules, readUnits } from '../capacity.ts';
import { itemBytes, type WireItem } from '../item-size.ts';
import { add, type Ledger, newLedger, type OpenLedger, type Service } from './ledger.ts';
import { virtualTime } from './virtual-time.ts';

/** A storage that records which part of the table, indexes and bucket each request hits. */
export interface RecordingStorage extends Storage {
  /** The requests since the last call, and their estimated time. */
  take(): { readonly ledger: Ledger; readonly ms: number };
  /** The stream records since the last call. */
  nextRecords(): Promise<StreamRecord[]>;
  /** Records a request to a service and executes it. */
  request<T>(service: Service, work: () => Promise<T>): Promise<T>;
}

const TABLE_NAME = 'runs';

/** Assumed response times: typical within a region, not measured. */
const LATENCY_MS = { dynamodb: 5, s3: 30, lambda: 30 } as const satisfies Record<Service, number>;

/** CPU time of a request on one full processor, and the memory that gives a function one: 0.8 ms here, plus TLS. */
const PROCESSOR_MS = 1;
const PROCESSOR_MB = 1769;

/**
 * Records the requests that functions with this much memory send to a storage, in DynamoDB units, and advances the virtual
 * time by their assumed latency. The storage must keep the same records inline as DynamoDB does.
 */
export function recordingStorage({ records, payloads }: Storage, memoryMB: number): RecordingStorage {
  const time = virtualTime();
  const stream = recordingStream();
  let ledger = newLedger();
  let taken = 0;
  let freeAt = 0;
  let hasResponded = false;

  async function request<T>(service: Service, work: () => Promise<T>): Promise<T> {
    add(ledger.requests, service);
    // Responses are awaited concurrently, but one processor sends requests one after the other.
    freeAt = Math.max(freeAt, time.now()) + (PROCESSOR_MS * PROCESSOR_MB) / memoryMB;
    await time.pass(freeAt - time.now() + LATENCY_MS[service]);
    hasResponded ||= service === 'dynamodb';
    return work();
  }

  const recorder: Recorder = { request, ledger: () => ledger, hasResponded: () => hasResponded };
  return {
    request,
    take() {
      const part = { ledger, ms: time.now() - taken };
      taken = time.now();
      ledger = newLedger();
      return part;
    },
    nextRecords: stream.next,
    records: recordingRecords(records, recorder, stream.written),
    payloads: recordingPayloads(payloads, recorder),
  };
}

/** Records requests in the current ledger. */
interface Recorder {
  readonly request: RecordingStorage['request'];
  readonly ledger: () => OpenLedger;
  /** Whether DynamoDB has responded: before that, its time is not known. */
  readonly hasResponded: () => boolean;
}

function recordingRecords(
  records: RecordStore,
  { request, ledger, hasResponded }: Recorder,
  streamed: (at: RecordKey, item: Item | undefined) => void,
): RecordStore {
  const rules = capacityRules();
  rules.createTable({ TableName: TABLE_NAME, ...TABLE });

  function written(write: Write, times: number): void {
    if ('foreign' in write)
      throw new Error('Expected writes to the table of Waitstate only; found a write to another table.');
    const at: RecordKey = 'put' in write ? write.put : write.remove;
    const item = 'put' in write ? toItem(write.put) : undefined;
    const { units, inGroups } = item
      ? rules.put(TABLE_NAME, toWireItem(item))
      : rules.remove(TABLE_NAME, toWireItem(primaryKey(at)));
    add(ledger().tableUnits, at.partition, units * times);
    for (const [group, more] of inGroups) add(ledger().groupUnits, group, more);
    streamed(at, item);
  }
  function read(where: string, found: readonly StoredRecord[], consistent: boolean): void {
    const bytes = found.reduce((all, record) => all + itemBytes(toWireItem(toItem(record))), 0);
    add(ledger().readUnits, where, readUnits(bytes, consistent));
  }
  const page = (where: string, consistent: boolean, ask: () => Promise<Page>): Promise<Page> =>
    request('dynamodb', async () => {
      const found = await ask();
      read(where, found.records, consistent);
      return found;
    });

  return {
    ...records,
    removesExpired: true,
    clockAheadMs: () => (hasResponded() ? 0 : undefined),
    read: (partition, keys) =>
      request('dynamodb', async () => {
        const found = await records.read(partition, keys);
        for (const record of found) read(partition, [record], true);
        add(ledger().readUnits, partition, new Set(keys).size - found.length);
        return found;
      }),
    range: (partition, options) => page(partition, true, () => records.range(partition, options)),
    list: (list, group, options) => page(`${list} ${group}`, false, () => records.list(list, group, options)),
    commit: (writes) =>
      request('dynamodb', async () => {
        await records.commit(writes);
        for (const write of writes) written(write, writes.length > 1 ? 2 : 1);
      }),
  };
}

const recordingPayloads = (payloads: PayloadStore, { request, ledger }: Recorder): PayloadStore => ({
  ...payloads,
  put: (partition, id, content) =>
    request('s3', async () => {
      await payloads.put(partition, id, content);
      add(ledger().objects, partition);
    }),
  open: (partition, id) => request('s3', () => payloads.open(partition, id)),
  async *list(scope) {
    yield* await request('s3', () => Array.fromAsync(payloads.list(scope)));
  },
  remove: (partition, ids) => request('s3', () => payloads.remove(partition, ids)),
});

/** The stream records that writes to a table produce. */
function recordingStream() {
  const images = new Map<string, Item>();
  let records: StreamRecord[] = [];
  let numbered = 0;
  return {
    written(at: RecordKey, item: Item | undefined): void {
      const name = `${at.partition}\n${at.key}`;
      const OldImage = images.get(name);
      const SequenceNumber = String(++numbered);
      records.push({
        eventID: SequenceNumber,
        dynamodb: {
          Keys: primaryKey(at),
          SequenceNumber,
          ...(item && { NewImage: item }),
          ...(OldImage && { OldImage }),
        },
      } as StreamRecord);
      if (item) images.set(name, item);
      else images.delete(name);
    },
    async next(): Promise<StreamRecord[]> {
      const taken = records;
      records = [];
      return taken;
    },
  };
}

/** An item with its bytes encoded as on the wire. */
const toWireItem = (item: Item): WireItem =>
  Object.fromEntries(
    Object.entries(item).map(([name, { S, N, B }]) => [
      name,
      B ? { B: Buffer.from(B).toString('base64') } : N === undefined ? { S } : { N },
    ]),
  );
