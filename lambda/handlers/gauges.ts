import type { HeadMeta } from '../checkpoints/engine.ts';
import { isLeased, readHead } from '../checkpoints/engine.ts';
import type { Status } from '../core/status.ts';
import { readApprovalMeta } from '../runtime/approvals/approval-meta.ts';
import type { Gauge } from '../runtime/telemetry.ts';
import { APPROVAL_KEY_PREFIX, HEAD_KEY, SHARDS, shardGroup, tenantGroup, timeOrder } from '../storage/keys.ts';
import type { ListName, PageOptions, RecordStore, StoredRecord } from '../storage/ports.ts';
import { runIdsOf } from './stream-records.ts';

/** What of each list is read: the first so many records, in at most so many requests. */
export const MAX_RECORDS = 1_000;
export const MAX_REQUESTS = 4;

const SOON_MS = 24 * 3_600_000;

/** The gauge of each status in which a run lives. */
const OF_STATUS = {
  READY: 'RunsReady',
  RUNNING: 'RunsRunning',
  WAITING_FOR_APPROVAL: 'RunsWaitingForApproval',
  WAITING_FOR_SIGNAL: 'RunsWaitingForSignal',
  SLEEPING: 'RunsSleeping',
  ENDING: 'RunsEnding',
} as const satisfies Record<Exclude<Status, 'SUCCEEDED' | 'FAILED' | 'CANCELLED'>, Gauge>;

export interface GaugeInput {
  readonly records: Pick<RecordStore, 'list'>;
  readonly tenants: readonly string[];
  readonly now: number;
  /** Reads a record; undefined when nobody can. */
  readonly tryRead: <T>(read: (stored: StoredRecord) => T, stored: StoredRecord) => T | undefined;
}

/** What there is of the runs of these tenants, from lists alone: no run is read, and none is written. */
export async function measureGauges(gauged: GaugeInput): Promise<Readonly<Record<Gauge, number>>> {
  const measured: Record<Gauge, number> = { ...NOTHING };
  const range = { to: timeOrder(gauged.now + SOON_MS) };
  const due = await Promise.all(SHARDS.map((shard) => firstOf(gauged.records, 'due', shardGroup(shard), range)));
  const soon = ofTheDue(
    gauged,
    due.flatMap(({ found }) => found),
  );
  measured.ApprovalsDueSoon = soon.approvals;
  measured.GaugesTruncated = due.filter(({ isCut }) => isCut).length;
  for (const tenant of gauged.tenants) {
    for (const { gauge, found, isCut, oldest } of await byStatus(gauged, tenant)) {
      const leased = gauge === 'RunsRunning' ? (soon.leased.get(tenant) ?? 0) : 0;
      measured[gauge] += Math.min(found.length + leased, MAX_RECORDS);
      if (isCut) measured.GaugesTruncated += 1;
      // Every change of status sets this, and nothing that leaves the status as it is.
      const seconds = oldest ? Math.max(0, (gauged.now - oldest.touchedAt) / 1000) : 0;
      const age = AGES[gauge];
      if (age) measured[age] = Math.max(measured[age], seconds);
    }
  }
  return measured;
}

const NOTHING: Readonly<Record<Gauge, number>> = {
  ...{ RunsReady: 0, RunsRunning: 0, RunsWaitingForApproval: 0, RunsWaitingForSignal: 0, RunsSleeping: 0 },
  ...{ RunsEnding: 0, OldestReadySeconds: 0, OldestApprovalSeconds: 0, ApprovalsDueSoon: 0, GaugesTruncated: 0 },
};

/** The gauges of the run that has been in a status for longest. */
const AGES: Readonly<Partial<Record<Gauge, Gauge>>> = {
  RunsReady: 'OldestReadySeconds',
  RunsWaitingForApproval: 'OldestApprovalSeconds',
};

interface Listed {
  readonly found: readonly StoredRecord[];
  /** Whether there is more than was read. */
  readonly isCut: boolean;
}

/** The runs of a tenant in each status, those that have been in it for longest first. */
const byStatus = ({ records, tryRead: readable }: GaugeInput, tenant: string) =>
  Promise.all(
    Object.entries(OF_STATUS).map(async ([status, gauge]) => {
      const listed = await firstOf(records, 'status', tenantGroup(tenant, status));
      const [oldest] = gauge in AGES ? heads(readable, listed.found) : [];
      return { ...listed, gauge, oldest };
    }),
  );

function* heads(readable: GaugeInput['tryRead'], found: readonly StoredRecord[]): Generator<HeadMeta> {
  for (const stored of found) {
    const head = readable(readHead, stored);
    if (head) yield head.meta;
  }
}

/**
 * What of the due list counts: the runs that agents have, which are in no list by status but are due within the hour, and
 * approvals, which are in it while they are open, at their deadline at the latest.
 */
function ofTheDue({ tenants, now, tryRead: readable }: GaugeInput, due: readonly StoredRecord[]) {
  const leased = new Map<string, number>();
  let approvals = 0;
  for (const stored of due) {
    const tenant = runIdsOf(stored)?.tenant;
    if (tenant === undefined || !tenants.includes(tenant)) continue;
    if (stored.key === HEAD_KEY) {
      const head = readable(readHead, stored);
      if (head && isLeased(head.meta)) leased.set(tenant, (leased.get(tenant) ?? 0) + 1);
    } else if (stored.key.startsWith(APPROVAL_KEY_PREFIX)) {
      const { deadline = Infinity } = readable(readApprovalMeta, stored) ?? {};
      if (deadline > now && deadline <= now + SOON_MS) approvals += 1;
    }
  }
  return { leased, approvals };
}

/** The first records of a list, as many as are read of one. */
async function firstOf(
  records: GaugeInput['records'],
  list: ListName,
  group: string,
  range: PageOptions = {},
): Promise<Listed> {
  const found: StoredRecord[] = [];
  let next: string | undefined;
  for (let request = 0; request < MAX_REQUESTS; request++) {
    const limit = MAX_RECORDS - found.length;
    const page = await records.list(list, group, { ...range, limit, ...(next !== undefined && { after: next }) });
    found.push(...page.records);
    next = page.next;
    if (next === undefined || found.length >= MAX_RECORDS) break;
  }
  return { found, isCut: next !== undefined };
}
