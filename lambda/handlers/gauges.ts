import { type HeadMeta, isLeased, readHead } from '../checkpoints/engine.ts';
import { unsentNotification } from '../core/approval.ts';
import type { Status } from '../core/status.ts';
import { readApprovalMeta } from '../runtime/approvals/approval-meta.ts';
import type { Gauge } from '../runtime/telemetry.ts';
import { APPROVAL_KEY_PREFIX, HEAD_KEY, SHARDS, shardGroup, tenantGroup, timeOrder } from '../storage/keys.ts';
import type { ListName, PageOptions, RecordStore, StoredRecord } from '../storage/ports.ts';
import { runIdsOf } from './stream-records.ts';

/** The limits for reading one list: records, and requests. */
export const MAX_RECORDS = 1_000;
export const MAX_REQUESTS = 4;

const DUE_SOON_MS = 24 * 3_600_000;

/** The gauge of each status that has not ended. */
const GAUGE_BY_STATUS = {
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
  /** Decodes a record; returns undefined if it is unreadable. */
  readonly tryRead: <T>(read: (stored: StoredRecord) => T, stored: StoredRecord) => T | undefined;
}

/** Measures the runs of these tenants from the indexes alone: it loads no run and writes nothing. */
export async function measureGauges(input: GaugeInput): Promise<Readonly<Record<Gauge, number>>> {
  const measured: Record<Gauge, number> = { ...ZERO_GAUGES };
  const range = { to: timeOrder(input.now + DUE_SOON_MS) };
  const due = await Promise.all(SHARDS.map((shard) => listFirst(input.records, 'due', shardGroup(shard), range)));
  const dueCounts = countDue(
    input,
    due.flatMap(({ found }) => found),
  );
  measured.ApprovalsDueSoon = dueCounts.approvals;
  measured.NotificationsUnsent = dueCounts.unsent;
  measured.GaugesTruncated = due.filter(({ isTruncated }) => isTruncated).length;
  for (const tenant of input.tenants) {
    for (const { gauge, found, isTruncated, oldest } of await listByStatus(input, tenant)) {
      const leased = gauge === 'RunsRunning' ? (dueCounts.leased.get(tenant) ?? 0) : 0;
      measured[gauge] += Math.min(found.length + leased, MAX_RECORDS);
      if (isTruncated) measured.GaugesTruncated += 1;
      // A change of status sets `updatedAt`, and other writes do not.
      const seconds = oldest ? Math.max(0, (input.now - oldest.updatedAt) / 1000) : 0;
      const age = AGE_GAUGES[gauge];
      if (age) measured[age] = Math.max(measured[age], seconds);
    }
  }
  return measured;
}

const ZERO_GAUGES: Readonly<Record<Gauge, number>> = {
  RunsReady: 0,
  RunsRunning: 0,
  RunsWaitingForApproval: 0,
  RunsWaitingForSignal: 0,
  RunsSleeping: 0,
  RunsEnding: 0,
  OldestReadySeconds: 0,
  OldestApprovalSeconds: 0,
  ApprovalsDueSoon: 0,
  NotificationsUnsent: 0,
  GaugesTruncated: 0,
};

/** The gauges for the age of the run that has been in a status for longest. */
const AGE_GAUGES: Readonly<Partial<Record<Gauge, Gauge>>> = {
  RunsReady: 'OldestReadySeconds',
  RunsWaitingForApproval: 'OldestApprovalSeconds',
};

interface ListedRecords {
  readonly found: readonly StoredRecord[];
  /** Whether the list has more records. */
  readonly isTruncated: boolean;
}

/** The runs of a tenant by status, with the one that has been in its status for longest. */
const listByStatus = ({ records, tryRead }: GaugeInput, tenant: string) =>
  Promise.all(
    Object.entries(GAUGE_BY_STATUS).map(async ([status, gauge]) => {
      const listed = await listFirst(records, 'status', tenantGroup(tenant, status));
      const [oldest] = gauge in AGE_GAUGES ? readHeads(tryRead, listed.found) : [];
      return { ...listed, gauge, oldest };
    }),
  );

function* readHeads(tryRead: GaugeInput['tryRead'], found: readonly StoredRecord[]): Generator<HeadMeta> {
  for (const stored of found) {
    const head = tryRead(readHead, stored);
    if (head) yield head.meta;
  }
}

/**
 * Counts records of the `due` index: leased runs, which are not in the status index but due within the hour, pending
 * approvals, which are due at their deadline at the latest, and notifications that could not be sent.
 */
function countDue({ tenants, now, tryRead }: GaugeInput, due: readonly StoredRecord[]) {
  const leased = new Map<string, number>();
  let approvals = 0;
  let unsent = 0;
  for (const stored of due) {
    const tenant = runIdsOf(stored)?.tenant;
    if (tenant === undefined || !tenants.includes(tenant)) continue;
    if (stored.key === HEAD_KEY) {
      const head = tryRead(readHead, stored);
      if (head && isLeased(head.meta)) leased.set(tenant, (leased.get(tenant) ?? 0) + 1);
    } else if (stored.key.startsWith(APPROVAL_KEY_PREFIX)) {
      const approval = tryRead(readApprovalMeta, stored);
      const { deadline = Infinity } = approval ?? {};
      if (deadline > now && deadline <= now + DUE_SOON_MS) approvals += 1;
      if (approval && unsentNotification(approval, now)) unsent += 1;
    }
  }
  return { leased, approvals, unsent };
}

/** The first records of a list, within the limits. */
async function listFirst(
  records: GaugeInput['records'],
  list: ListName,
  group: string,
  range: PageOptions = {},
): Promise<ListedRecords> {
  const found: StoredRecord[] = [];
  let next: string | undefined;
  for (let request = 0; request < MAX_REQUESTS; request++) {
    const limit = MAX_RECORDS - found.length;
    const page = await records.list(list, group, { ...range, limit, ...(next !== undefined && { after: next }) });
    found.push(...page.records);
    next = page.next;
    if (next === undefined || found.length >= MAX_RECORDS) break;
  }
  return { found, isTruncated: next !== undefined };
}
