import type { Context, HeadMeta, RunContext } from '../../checkpoints/engine.ts';
import {
  type FailedRun,
  headRecord,
  MAX_LEASED_DUE_MS,
  readHead,
  scanPages,
  tryCommit,
} from '../../checkpoints/engine.ts';
import { sweepRun } from '../../checkpoints/operations/operations.ts';
import { WaitstateError } from '../../core/errors.ts';
import { parsePartition, toPartition } from '../../core/ids.ts';
import { hasEnded, isWaiting } from '../../core/status.ts';
import { approvalIdFromKey, HEAD_KEY, isReservedPartition, SHARDS, shardGroup, timeOrder } from '../../storage/keys.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import { readApprovalMeta } from '../approvals/approval-meta.ts';
import { type Notifier, processDueApproval } from '../approvals/due.ts';
import type { Delivery, Runtime } from '../runtime.ts';
import { deliverIfReady, wokenHead } from '../wake/wake.ts';
import { isLeased, NO_WORK, redeliveryDelayMs, timesOutAt } from '../wake/work.ts';
import { endRun } from './end-run.ts';
import { isPaused } from './pause-agent.ts';

/** What a sweep did. */
export interface SweepReport {
  /** Runs that were delivered: nobody had taken them, who had them crashed, or their time had come. */
  readonly delivered: number;
  /** Runs whose time was over. */
  readonly timedOut: number;
  /** Reminders, escalations and ends of approvals, and people told of them. */
  readonly approvals: number;
  /** Runs that were removed, ids that are free again, and other things that were due to go. */
  readonly expired: number;
  readonly freed: number;
  readonly removed: number;
  /** Deliveries that were tried before; above a handful, look at the agent's function. */
  readonly redelivered: number;
  readonly failed: readonly FailedRun[];
}

/** How a sweep reaches agents and people. */
export interface SweepOptions {
  readonly runtime: Runtime;
  /** How people are told, given the agent that asks and its tenant; `unknown` leaves it to others. @default they are not */
  readonly notifierFor?: ((agent: string | undefined, tenant: string) => Notifier | 'unknown' | undefined) | undefined;
  /** Whether a run can be delivered from here; what cannot is left to other sweepers. @default all can */
  readonly canDeliver?: (delivery: Delivery) => boolean;
  /** Also what belongs to other tenants. @default true */
  readonly everyTenant?: boolean;
  /** Those of the shards of what is due that are looked through; others look through the rest. @default all */
  readonly shards?: readonly number[];
}

type Outcome = Exclude<keyof SweepReport, 'failed'>;

/** Looks at everything that is due, and at nothing else: what is due first is looked at first, and much at once. */
export async function sweepDue({
  runtime,
  notifierFor: telling,
  canDeliver: takes = () => true,
  everyTenant = true,
  shards = SHARDS,
}: SweepOptions): Promise<SweepReport> {
  const context = await runtime.contexts.forTenant();
  const report = { delivered: 0, timedOut: 0, approvals: 0, expired: 0, freed: 0, removed: 0, redelivered: 0 };
  const failed: FailedRun[] = [];
  const paused = new Map<string, Promise<boolean>>();
  const isAgentPaused = (at: RunContext, agent: string): Promise<boolean> => {
    const key = `${at.tenant}\n${agent}`;
    const known = paused.get(key) ?? isPaused(at, agent);
    paused.set(key, known);
    return known;
  };
  const look = async (record: StoredRecord): Promise<void> => {
    const ids = parsePartition(record.partition);
    if (!everyTenant && ids.tenant !== context.tenant) return;
    const at = { ...context, ...ids, partition: record.partition, migrator: undefined };
    try {
      for (const outcome of await lookAt({ at, record, runtime, telling, takes, isAgentPaused })) report[outcome] += 1;
    } catch (error) {
      failed.push({ ...ids, error });
    }
  };
  // Each goes to its end, whatever becomes of another.
  const swept = await Promise.allSettled(shards.flatMap((shard) => lookers(due(context, shard), look)));
  for (const each of swept) if (each.status === 'rejected') throw each.reason;
  return { ...report, failed };
}

/**
 * Some who share the records of a shard. Those of one run, which are all in it, are looked at one after the other by who
 * came to the run first; no other waits for that.
 */
function lookers(
  records: AsyncGenerator<StoredRecord>,
  look: (record: StoredRecord) => Promise<void>,
): Promise<void>[] {
  const underWay = new Map<string, StoredRecord[]>();
  return Array.from({ length: AT_ONCE }, async () => {
    for await (const record of records) {
      const { partition } = record;
      const behind = underWay.get(partition);
      if (behind) {
        // What is left out is due still, and first in the next sweep.
        if (behind.length < MOST_OF_A_RUN) behind.push(record);
        continue;
      }
      const mine = [record];
      underWay.set(partition, mine);
      for (const next of mine) await look(next);
      underWay.delete(partition);
    }
  });
}

const AT_ONCE = 8;
const MOST_OF_A_RUN = 1_000;

const due = (context: Context, shard: number): AsyncGenerator<StoredRecord> => {
  const range = { to: timeOrder(context.now()), limit: 100 };
  return scanPages((from) => context.records.list('due', shardGroup(shard), { ...range, ...from }));
};

interface Look {
  readonly at: RunContext;
  readonly record: StoredRecord;
  readonly runtime: Runtime;
  readonly telling: SweepOptions['notifierFor'];
  readonly takes: NonNullable<SweepOptions['canDeliver']>;
  readonly isAgentPaused: (at: RunContext, agent: string) => Promise<boolean>;
}

async function lookAt(look: Look): Promise<readonly Outcome[]> {
  const { at, record, telling } = look;
  if (record.key === HEAD_KEY) return lookAtRun(look);
  const approval = isReservedPartition(record.partition) ? undefined : approvalIdFromKey(record.key);
  if (approval === undefined) return remove(at, record);
  const { agent } = readApprovalMeta(record);
  const done = await processDueApproval(at, approval, telling?.(agent, at.tenant));
  if (done.includes('expire')) await deliverIfReady(look.runtime, at);
  return done.map(() => 'approvals' as const);
}

/** A link, a cached value or an early signal whose time is over. */
async function remove(at: RunContext, record: StoredRecord): Promise<readonly Outcome[]> {
  const [there] = await at.records.read(record.partition, [record.key]);
  if (!there || there.revision !== record.revision) return [];
  return (await tryCommit(at.records, [{ remove: there, when: { revision: there.revision } }])) ? ['removed'] : [];
}

async function lookAtRun(look: Look): Promise<readonly Outcome[]> {
  const { at, runtime } = look;
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  if (!stored) return [];
  const head = readHead(stored).meta;
  const { work, deletedUntil, status } = head;
  if (deletedUntil === undefined && work?.dueAt !== undefined && work.dueAt <= at.now() && !hasEnded(status)) {
    if (timesOutAt(head) <= at.now()) {
      const error = new WaitstateError('TIMED_OUT', `Run "${at.run}" took longer than its timeout.`, { scope: 'run' });
      const { parent } = await endRun(at, { ending: 'FAILED', error });
      await deliverIfReady(runtime, at);
      if (parent !== undefined)
        await deliverIfReady(runtime, { ...at, run: parent, partition: toPartition(at.tenant, parent) });
      return ['timedOut'];
    }
    return deliverDue(look, stored, head);
  }
  const swept = await sweepRun(at);
  return swept ? [swept] : [];
}

/** Marks a run as delivered once more, so that the next look is later, and delivers it. */
async function deliverDue(
  { at, runtime, takes, isAgentPaused }: Look,
  stored: StoredRecord,
  head: HeadMeta,
): Promise<readonly Outcome[]> {
  const { agent = '', work = NO_WORK } = head;
  if (isLeased(work, at.now())) return lookLater(at, stored, head);
  if (!takes(deliveryOf(at, head))) return [];
  const paused = agent !== '' && (await isAgentPaused(at, agent));
  const deliveries = (work.deliveries ?? 0) + (paused ? 0 : 1);
  const dueAt = at.now() + redeliveryDelayMs(paused ? 1 : deliveries);
  const woken = isWaiting(head.status) ? wokenHead(at, head) : head;
  const next = { ...woken, work: { ...(woken.work ?? work), deliveries, dueAt, rests: undefined } };
  const isOurs = await moved(at, stored, next);
  if (paused || !isOurs) return [];
  await runtime.deliver?.(deliveryOf(at, head));
  return deliveries > 1 ? ['delivered', 'redelivered'] : ['delivered'];
}

/** An agent has the run: nobody must look before its time is over. */
async function lookLater(at: RunContext, stored: StoredRecord, head: HeadMeta): Promise<readonly []> {
  const { work = NO_WORK } = head;
  const dueAt = Math.min(work.lease?.until ?? 0, at.now() + MAX_LEASED_DUE_MS, timesOutAt(head));
  await moved(at, stored, { ...head, work: { ...work, dueAt } });
  return [];
}

/** Writes a head, unless somebody has just done something with it. */
const moved = (at: RunContext, { revision }: StoredRecord, next: HeadMeta): Promise<boolean> =>
  tryCommit(at.records, [{ put: headRecord(at.partition, next).stored, when: { revision } }]);

const deliveryOf = ({ tenant, run }: RunContext, { agent }: HeadMeta): Delivery => ({ tenant, run, agent });
