// A proxy between clients and the engines, in its own process, that counts requests. For DynamoDB, it asks the engine for
// the consumed capacity of every request and also computes it by the documented rules.
import { Agent, createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CreateTable, capacityRules, readUnits, type Units } from './capacity.ts';
import { type Counts, NO_COUNTS } from './counts.ts';
import { itemName } from './item-names.ts';
import { itemBytes, type WireItem } from './item-size.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Kinds = Record<string, number>;

interface MutableCounts extends Omit<Mutable<Counts>, 'requests' | 's3' | 'unitsByItem'> {
  readonly requests: Kinds;
  readonly s3: Kinds;
  readonly unitsByItem: Kinds;
}

const counts: MutableCounts = { ...NO_COUNTS, requests: {}, s3: {}, unitsByItem: {} };
const rules = capacityRules();

interface Put {
  readonly TableName: string;
  readonly Item: WireItem;
}
interface Delete {
  readonly TableName: string;
  readonly Key: WireItem;
}
interface Read {
  readonly ConsistentRead?: boolean;
}
interface BatchWrite {
  readonly RequestItems: Readonly<Record<string, readonly { PutRequest?: Put; DeleteRequest?: Delete }[]>>;
}

const dynamo = proxy('dynamodb', (incoming, body) => {
  const operation = String(incoming.headers['x-amz-target'] ?? '').replace(/.*\./, '');
  if (!operation) return { body };
  const input = JSON.parse(body.toString()) as Record<string, unknown>;
  if (MEASURED.has(operation)) input.ReturnConsumedCapacity = 'INDEXES';
  const settle = (status: number, answer: Buffer) => {
    if (MEASURED.has(operation)) add(counts.requests, operation);
    if (status === 200) countDynamo(operation, input, JSON.parse(answer.toString()) as Record<string, unknown>);
    // A failed condition is billed like a write of the existing item; counted here as one unit.
    else if (MEASURED.has(operation)) addWriteUnits('failed condition', 1);
  };
  return { body: Buffer.from(JSON.stringify(input)), settle };
});

const s3 = proxy('s3', (incoming, body) => {
  const { method = '' } = incoming;
  const url = incoming.url ?? '';
  const kind = incoming.headers['x-amz-copy-source']
    ? 'COPY'
    : method === 'GET' && /[?&](list-type|prefix)=/.test(url)
      ? 'LIST'
      : method;
  const isDelete = method === 'POST' && /[?&]delete/.test(url);
  const settle = (_: number, answer: Buffer) => {
    add(counts.s3, isDelete ? 'DELETE' : kind);
    if (method === 'PUT')
      counts.s3BytesWritten += Number(incoming.headers['x-amz-decoded-content-length'] ?? body.length);
    if (kind === 'GET') counts.s3BytesRead += answer.length;
  };
  return { body, settle };
});

const MEASURED = new Set([
  'PutItem',
  'GetItem',
  'Query',
  'DeleteItem',
  'UpdateItem',
  'TransactWriteItems',
  'BatchGetItem',
  'BatchWriteItem',
  'Scan',
]);

function countDynamo(operation: string, input: Record<string, unknown>, answer: Record<string, unknown>): void {
  countEngine(operation, answer.ConsumedCapacity);
  if (operation === 'CreateTable') rules.createTable(input as unknown as CreateTable);
  if (operation === 'PutItem') countPut(input as unknown as Put, 1);
  if (operation === 'DeleteItem') countDelete(input as unknown as Delete, 1);
  if (operation === 'TransactWriteItems') {
    for (const { Put, Delete } of input.TransactItems as { Put?: Put; Delete?: Delete }[]) {
      if (Put) countPut(Put, 2);
      if (Delete) countDelete(Delete, 2);
    }
  }
  if (operation === 'BatchWriteItem') {
    for (const [TableName, writes] of Object.entries((input as unknown as BatchWrite).RequestItems)) {
      for (const { PutRequest, DeleteRequest } of writes) {
        if (PutRequest) countPut({ ...PutRequest, TableName }, 1);
        if (DeleteRequest) countDelete({ ...DeleteRequest, TableName }, 1);
      }
    }
  }
  const isConsistent = (input as Read).ConsistentRead === true;
  if (operation === 'GetItem') countRead(answer.Item ? [answer.Item as WireItem] : [], isConsistent);
  if (operation === 'Query' || operation === 'Scan') countRead((answer.Items ?? []) as WireItem[], isConsistent);
  if (operation === 'BatchGetItem') {
    const asked = input.RequestItems as Record<string, Read & { Keys: WireItem[] }>;
    const found = answer.Responses as Record<string, WireItem[]>;
    for (const [table, { ConsistentRead, Keys }] of Object.entries(asked)) {
      const items = found[table] ?? [];
      for (const item of items) countRead([item], ConsistentRead === true);
      counts.readUnits += Math.max(0, Keys.length - items.length) * (ConsistentRead ? 1 : 0.5);
    }
  }
}

function countPut({ TableName, Item }: Put, times: number): void {
  countWrite(Item, rules.put(TableName, Item), times);
  counts.dynamoBytesWritten += itemBytes(Item);
}

function countDelete({ TableName, Key }: Delete, times: number): void {
  countWrite(Key, rules.remove(TableName, Key), times);
}

/** A transaction doubles the units of the item itself, but not those of its index entries. */
function countWrite(item: WireItem, { units, inIndexes }: Units, times: number): void {
  const name = itemName(item);
  addWriteUnits(name, units * times);
  for (const [index, more] of inIndexes) addWriteUnits(`${name} in ${index}`, more);
}

function addWriteUnits(item: string, units: number): void {
  counts.writeUnits += units;
  add(counts.unitsByItem, item, units);
}

function countRead(items: readonly WireItem[], consistent: boolean): void {
  const bytes = items.reduce((sum, item) => sum + itemBytes(item), 0);
  counts.readUnits += readUnits(bytes, consistent);
  counts.dynamoBytesRead += bytes;
}

function countEngine(operation: string, consumed: unknown): void {
  const units = (Array.isArray(consumed) ? consumed : [consumed]).reduce(
    (sum, each) => sum + (each?.CapacityUnits ?? 0),
    0,
  );
  if (/Get|Query|Scan/.test(operation)) counts.engineReadUnits += units;
  else counts.engineWriteUnits += units;
}

function add(kinds: Kinds, kind: string, count = 1): void {
  kinds[kind] = (kinds[kind] ?? 0) + count;
}

interface ProxiedRequest {
  readonly body: Buffer;
  /** Called with the engine's response. */
  readonly settle?: (status: number, answer: Buffer) => void;
}

function proxy(name: 'dynamodb' | 's3', inspect: (incoming: IncomingMessage, body: Buffer) => ProxiedRequest): Server {
  const agent = new Agent({ keepAlive: true });
  const target = new URL(process.env[`BENCH_${name}`] ?? '');
  return createServer(async (incoming, outgoing) => {
    const { body, settle } = inspect(incoming, await readAll(incoming));
    const headers = { ...incoming.headers, 'content-length': String(body.length) };
    const { method, url: path } = incoming;
    const passed = request(
      { agent, host: target.hostname, port: target.port, method, path, headers },
      async (answer) => {
        const content = await readAll(answer);
        settle?.(answer.statusCode ?? 0, content);
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers).end(content);
      },
    );
    passed.on('error', (error) => outgoing.writeHead(502).end(String(error)));
    passed.end(body.length > 0 ? body : undefined);
  }).listen(0, '127.0.0.1');
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

await Promise.all([dynamo, s3].map((server) => new Promise((resolve) => server.once('listening', resolve))));
const portOf = (server: Server) => (server.address() as AddressInfo).port;
process.on('message', () => process.send?.(counts));
process.once('disconnect', () => process.exit());
process.send?.({ dynamodb: portOf(dynamo), s3: portOf(s3) });
