import {
  type Context,
  type FailedRun,
  type HeadMeta,
  hasExpired,
  headRecord,
  MAX_LEASED_DUE_MS,
  type RunContext,
  readHead,
  scanPages,
  tryCommit,
} from '../../checkpoints/engine.ts';
import { sweepRun } from '../../checkpoints/operations/operations.ts';
import { parsePartition, toPartition } from '../../core/ids.ts';
import { hasEnded, isWaiting } from '../../core/status.ts';
import { approvalIdFromKey, HEAD_KEY, isReservedPartition, SHARDS, shardGroup, timeOrder } from '../../storage/keys.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import { readApprovalMeta } from '../approvals/approval-meta.ts';
import { type Notifier, processDueApproval } from '../approvals/due.ts';
import { isClockWrong, logClockDifference } from '../clock-difference.ts';
import type { Delivery, Runtime } from '../runtime.ts';
import { deliverIfReady, wokenHead } from '../wake/wake.ts';
import { isLeased, NO_WORK, redeliveryDelayMs, timesOutAt, toReadyHead } from '../wake/work.ts';
import { timeOutRun } from './end-run.ts';
import { isPaused } from './pause-agent.ts';

/** The counts of one sweep. */
export interface SweepReport {
  /** Runs that were delivered: never claimed, crashed, or with a timer that is due. */
  readonly delivered: number;
  /** Runs that exceeded their timeout. */
  readonly timedOut: number;
  /** Notifications, reminders, escalations and expiries of approvals. */
  readonly approvals: number;
  /** Runs that were removed because their retention ended. */
  readonly expired: number;
  /** Ids of removed runs that can be used again. */
  readonly freed: number;
  /** Approval links, cached values and early signals that expired. */
  readonly removed: number;
  /** Runs that had been delivered before without being claimed; when there are many, check the agent's function. */
  readonly redelivered: number;
  readonly failed: readonly FailedRun[];
}

/** How a sweep delivers runs and notifies approvers. */
export interface SweepOptions {
  readonly runtime: Runtime;
  /**
   * The notifier for an agent and tenant; `unknown` leaves the notification to other sweepers. @default no
   * notifications
   */
  readonly notifierFor?: ((agent: string | undefined, tenant: string) => Notifier | 'unknown' | undefined) | undefined;
  /** Whether this process can deliver a run; other sweepers deliver the rest. @default every run */
  readonly canDeliver?: (delivery: Delivery) => boolean;
  /** Whether workers claim the runs of an agent, so that they are made ready instead of delivered. @default false */
  readonly hasWorkers?: (delivery: Delivery) => boolean;
  /** Whether to sweep the records of other tenants too. @default true */
  readonly everyTenant?: boolean;
  /** The shards of the due index to sweep. @default all */
  readonly shards?: readonly number[];
}

type SweepOutcome = Exclude<keyof SweepReport, 'failed'>;

/**
 * Processes every record that is due, earliest first, several at a time. A record that fails does not stop the others.
 * Processes nothing if the clock of this process is wrong.
 */
export async function sweepDue({
  runtime,
  notifierFor,
  canDeliver = () => true,
  hasWorkers = () => false,
  everyTenant = true,
  shards = SHARDS,
}: SweepOptions): Promise<SweepReport> {
  const context = await runtime.contexts.forTenant();
  const report = { delivered: 0, timedOut: 0, approvals: 0, expired: 0, freed: 0, removed: 0, redelivered: 0 };
  const failed: FailedRun[] = [];
  const paused = new Map<string, Promise<boolean>>();
  const isAgentPaused = (at: RunContext, agent: string): Promise<boolean> => {
    const key = `${at.tenant}\n${agent}`;
    const cached = paused.get(key) ?? isPaused(at, agent);
    paused.set(key, cached);
    return cached;
  };
  const sweepOne = async (record: StoredRecord): Promise<void> => {
    const ids = parsePartition(record.partition);
    if ((!everyTenant && ids.tenant !== context.tenant) || isClockWrong(context)) return;
    const at = { ...context, ...ids, partition: record.partition, migrator: undefined };
    try {
      const task = { at, record, runtime, notifierFor, canDeliver, hasWorkers, isAgentPaused };
      for (const outcome of await sweepRecord(task)) report[outcome] += 1;
    } catch (error) {
      failed.push({ ...ids, error });
    }
  };
  // Every sweeper completes, even when another one fails.
  const results = await Promise.allSettled(
    shards.flatMap((shard) => startSweepers(dueRecords(context, shard), sweepOne)),
  );
  logClockDifference(context, runtime.log);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return { ...report, failed };
}

/**
 * Starts concurrent sweepers that share the records of a shard. All records of a run are in one shard; the sweeper that
 * takes the first of them processes them in sequence, and the other sweepers do not wait for it.
 */
function startSweepers(
  records: AsyncGenerator<StoredRecord>,
  sweepOne: (record: StoredRecord) => Promise<void>,
): Promise<void>[] {
  const inProgress = new Map<string, StoredRecord[]>();
  return Array.from({ length: SWEEPERS_PER_SHARD }, async () => {
    for await (const record of records) {
      const { partition } = record;
      const queued = inProgress.get(partition);
      if (queued) {
        // Records beyond the limit stay due and come first in the next sweep.
        if (queued.length < MAX_RECORDS_PER_RUN) queued.push(record);
        continue;
      }
      const queue = [record];
      inProgress.set(partition, queue);
      for (const next of queue) await sweepOne(next);
      inProgress.delete(partition);
    }
  });
}

const SWEEPERS_PER_SHARD = 8;
const MAX_RECORDS_PER_RUN = 1_000;

const dueRecords = (context: Context, shard: number): AsyncGenerator<StoredRecord> => {
  const range = { to: timeOrder(context.now()), limit: 100 };
  return scanPages((from) => context.records.list('due', shardGroup(shard), { ...range, ...from }));
};

interface SweepTask {
  readonly at: RunContext;
  readonly record: StoredRecord;
  readonly runtime: Runtime;
  readonly notifierFor: SweepOptions['notifierFor'];
  readonly canDeliver: NonNullable<SweepOptions['canDeliver']>;
  readonly hasWorkers: NonNullable<SweepOptions['hasWorkers']>;
  readonly isAgentPaused: (at: RunContext, agent: string) => Promise<boolean>;
}

async function sweepRecord(task: SweepTask): Promise<readonly SweepOutcome[]> {
  const { at, record, notifierFor } = task;
  if (record.key === HEAD_KEY) return sweepDueRun(task);
  const approval = isReservedPartition(record.partition) ? undefined : approvalIdFromKey(record.key);
  if (approval === undefined) return removeExpired(at, record);
  const { agent } = readApprovalMeta(record);
  const actions = await processDueApproval(at, approval, notifierFor?.(agent, at.tenant));
  if (actions.includes('expire')) await deliverIfReady(task.runtime, at);
  return actions.map(() => 'approvals' as const);
}

/** Removes an expired approval link, cached value or early signal. */
async function removeExpired(at: RunContext, record: StoredRecord): Promise<readonly SweepOutcome[]> {
  const [current] = await at.records.read(record.partition, [record.key]);
  // The list was read with the time before the first response, which may have been wrong.
  if (!current || current.revision !== record.revision || !hasExpired(at, current)) return [];
  return (await tryCommit(at.records, [{ remove: current, when: { revision: current.revision } }])) ? ['removed'] : [];
}

async function sweepDueRun(task: SweepTask): Promise<readonly SweepOutcome[]> {
  const { at, runtime } = task;
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  if (!stored) return [];
  const head = readHead(stored).meta;
  const { work, deletedUntil, status } = head;
  if (deletedUntil === undefined && work?.dueAt !== undefined && work.dueAt <= at.now() && !hasEnded(status)) {
    if (timesOutAt(head) <= at.now()) {
      const { parent } = await timeOutRun(at);
      await deliverIfReady(runtime, at);
      if (parent !== undefined)
        await deliverIfReady(runtime, { ...at, run: parent, partition: toPartition(at.tenant, parent) });
      return ['timedOut'];
    }
    return deliverDue(task, stored, head);
  }
  const swept = await sweepRun(at);
  return swept ? [swept] : [];
}

/** Counts the delivery in the head, so that the next one comes later, and delivers the run. */
async function deliverDue(
  { at, runtime, canDeliver, hasWorkers, isAgentPaused }: SweepTask,
  stored: StoredRecord,
  head: HeadMeta,
): Promise<readonly SweepOutcome[]> {
  const { agent = '', work = NO_WORK } = head;
  if (isLeased(work, at.now())) return postponeLeasedRun(at, stored, head);
  const delivery = toDelivery(at, head);
  const isForWorkers = hasWorkers(delivery);
  if (!isForWorkers && !canDeliver(delivery)) return [];
  const paused = agent !== '' && (await isAgentPaused(at, agent));
  const deliveries = (work.deliveries ?? 0) + (paused ? 0 : 1);
  const dueAt = at.now() + redeliveryDelayMs(paused ? 1 : deliveries);
  const woken = isWaiting(head.status) ? wokenHead(at, head) : head;
  // Workers find only runs that have no lease and are not parked.
  const ready = isForWorkers ? toReadyHead(at.now(), { ...woken, work: woken.work ?? work }) : woken;
  const next = { ...ready, work: { ...(ready.work ?? work), deliveries, dueAt, suspended: undefined } };
  const wasUpdated = await tryUpdateHead(at, stored, next);
  if (paused || !wasUpdated) return [];
  if (!isForWorkers) await runtime.deliver?.(delivery);
  return deliveries > 1 ? ['delivered', 'redelivered'] : ['delivered'];
}

/** Makes a leased run due again when its lease or its timeout ends. */
async function postponeLeasedRun(at: RunContext, stored: StoredRecord, head: HeadMeta): Promise<readonly []> {
  const { work = NO_WORK } = head;
  const dueAt = Math.min(work.lease?.until ?? 0, at.now() + MAX_LEASED_DUE_MS, timesOutAt(head));
  await tryUpdateHead(at, stored, { ...head, work: { ...work, dueAt } });
  return [];
}

/** Writes the head unless it has changed; returns whether it was written. */
const tryUpdateHead = (at: RunContext, { revision }: StoredRecord, next: HeadMeta): Promise<boolean> =>
  tryCommit(at.records, [{ put: headRecord(at.partition, next).stored, when: { revision } }]);

const toDelivery = ({ tenant, run }: RunContext, { agent }: HeadMeta): Delivery => ({ tenant, run, agent });
