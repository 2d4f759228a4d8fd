import { PRICES } from './prices.ts';

/** Requests, units and bytes on the wire. */
export interface Counts {
  /** DynamoDB requests by operation, and S3 requests by method. */
  readonly requests: Readonly<Record<string, number>>;
  readonly s3: Readonly<Record<string, number>>;
  /** Write units by item and index: "head", "head in due". */
  readonly unitsByItem: Readonly<Record<string, number>>;
  /** By the documented rules, indexes included. */
  readonly writeUnits: number;
  readonly readUnits: number;
  /** As reported by the engine. */
  readonly engineWriteUnits: number;
  readonly engineReadUnits: number;
  readonly dynamoBytesWritten: number;
  readonly dynamoBytesRead: number;
  readonly s3BytesWritten: number;
  readonly s3BytesRead: number;
}

export const NO_COUNTS: Counts = {
  requests: {},
  s3: {},
  unitsByItem: {},
  writeUnits: 0,
  readUnits: 0,
  engineWriteUnits: 0,
  engineReadUnits: 0,
  dynamoBytesWritten: 0,
  dynamoBytesRead: 0,
  s3BytesWritten: 0,
  s3BytesRead: 0,
};

/** What was counted between two readings. */
export const countsSince = (before: Counts, after: Counts): Counts => combineCounts(after, before, -1);

export const addCounts = (one: Counts, other: Counts): Counts => combineCounts(one, other, 1);

function combineCounts(one: Counts, other: Counts, sign: 1 | -1): Counts {
  const sum = (field: Exclude<keyof Counts, 'requests' | 's3' | 'unitsByItem'>) => one[field] + sign * other[field];
  return {
    requests: combineKinds(one.requests, other.requests, sign),
    s3: combineKinds(one.s3, other.s3, sign),
    unitsByItem: combineKinds(one.unitsByItem, other.unitsByItem, sign),
    writeUnits: sum('writeUnits'),
    readUnits: sum('readUnits'),
    engineWriteUnits: sum('engineWriteUnits'),
    engineReadUnits: sum('engineReadUnits'),
    dynamoBytesWritten: sum('dynamoBytesWritten'),
    dynamoBytesRead: sum('dynamoBytesRead'),
    s3BytesWritten: sum('s3BytesWritten'),
    s3BytesRead: sum('s3BytesRead'),
  };
}

function combineKinds(one: Counts['requests'], other: Counts['requests'], sign: 1 | -1): Counts['requests'] {
  const kinds = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  const entries = kinds.map((kind) => [kind, (one[kind] ?? 0) + sign * (other[kind] ?? 0)] as const);
  return Object.fromEntries(entries.filter(([, count]) => count !== 0));
}

const total = (kinds: Counts['requests']): number => Object.values(kinds).reduce((sum, count) => sum + count, 0);

export const dynamoRequests = (counts: Counts): number => total(counts.requests);
export const s3Requests = (counts: Counts): number => total(counts.s3);
export const bytesWritten = (counts: Counts): number => counts.dynamoBytesWritten + counts.s3BytesWritten;
export const bytesRead = (counts: Counts): number => counts.dynamoBytesRead + counts.s3BytesRead;

/** The cost in dollars, at list prices. */
export function dollars(counts: Counts): number {
  const { PUT = 0, COPY = 0, POST = 0, LIST = 0, GET = 0, HEAD = 0 } = counts.s3;
  return (
    (counts.writeUnits * PRICES.writeUnit.dollars +
      counts.readUnits * PRICES.readUnit.dollars +
      (PUT + COPY + POST + LIST) * PRICES.s3Put.dollars +
      (GET + HEAD) * PRICES.s3Get.dollars) /
    1e6
  );
}

/** Formats counts by kind: "PutItem 9, TransactWriteItems 1". */
export const formatKinds = (kinds: Counts['requests']): string =>
  Object.entries(kinds)
    .map(([kind, count]) => `${kind} ${count.toLocaleString('en')}`)
    .join(', ') || '–';
