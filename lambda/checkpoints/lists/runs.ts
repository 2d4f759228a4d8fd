import { isWaitstateError } from '../../core/errors.ts';
import { escapeId, parsePartition } from '../../core/ids.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { operationName } from '../../core/operation-name.ts';
import { STATUSES, type Status } from '../../core/status.ts';
import { toDuration } from '../../core/to-duration.ts';
import { HEAD_KEY, SHARDS, shardGroup, tenantGroup, timeOrder } from '../../storage/keys.ts';
import type { ListName, StoredRecord } from '../../storage/ports.ts';
import type { RunSummary } from '../checkpoint.ts';
import type { Context, RunContext } from '../context.ts';
import { type HeadMeta, isUnreadable, readHeadMeta } from '../format/meta.ts';
import { isLeased, MAX_HEAD_LAG_MS, MAX_LEASED_DUE_MS } from '../format/records.ts';
import { readLiveHead } from '../read-head.ts';
import { mergeSorted, takeUpTo } from './merge-sorted.ts';
import { scanPages } from './scan.ts';

/** Which runs to list: all conditions must hold. */
export interface RunFilter {
  readonly status?: Status | readonly Status[];
  readonly agent?: string;
  readonly owner?: string;
  readonly tag?: string;
  /**
   * The step, by name or number, at which the run's status last changed; for a failed run, the step that failed. A
   * step in a branch is found by its name (`book`) and by its id (`trips[1]/book`).
   */
  readonly step?: string | number;
  /** Runs last written at or after `since` and before `until`. */
  readonly since?: Date;
  readonly until?: Date;
  readonly limit?: number;
}

const PAGE_SIZE = 100;
/** How many entries of each due shard are searched for leased runs. */
const MAX_DUE_PER_SHARD = 1_000;
const MAX_TIME_MS = 999_999_999_999_999;

/** Lists the matching runs of the tenant, most recently written first. The list is eventually consistent. */
export async function* listRuns(context: Context, filter: RunFilter): AsyncGenerator<RunSummary> {
  const matching = async function* () {
    for await (const { partition, head, isMatch } of scanRuns(context, filter))
      if (isMatch) yield toRunSummary(partition, head);
  };
  yield* takeUpTo(filter.limit, matching());
}

/** A run from a list. */
export interface ListedRun {
  readonly partition: string;
  readonly head: HeadMeta;
  /** Whether all conditions of the filter hold; lists cannot look up all of them. */
  readonly isMatch: boolean;
}

/** Every run that must be read to find the matching ones, for callers that limit how much they read. */
export async function* scanRuns(context: Context, filter: RunFilter): AsyncGenerator<ListedRun> {
  const { status, owner, since, until } = filter;
  const statuses = status === undefined ? STATUSES : [...new Set([status].flat())];
  for (const each of statuses) {
    if (!STATUSES.includes(each)) throw invalidInput('`status`', `one of ${STATUSES.join(', ')}`, each);
  }
  const range = {
    newestFirst: true,
    limit: PAGE_SIZE,
    from: timeOrder(since ? checkDate('`since`', since) : 0),
    to: timeOrder(until ? checkDate('`until`', until) - 1 : MAX_TIME_MS),
  };
  const source = async function* (list: ListName, kind: string) {
    const group = tenantGroup(context.tenant, kind);
    for await (const stored of scanPages((from) => context.records.list(list, group, { ...range, ...from })))
      yield* readListedHead(stored);
  };
  const byStatus = () => [
    ...statuses.map((each) => source('status', each)),
    ...(statuses.includes('RUNNING') ? [leasedRuns(context, range)] : []),
  ];
  const sources = owner === undefined ? byStatus() : [source('owner', escapeId('owner', owner))];
  for await (const listed of mergeSorted(sources, ({ head }) => -head.updatedAt))
    yield { ...listed, isMatch: matches(listed.head, filter, statuses, context.now()) };
}

/**
 * The runs that are currently leased. They are not in the status list, but in the due list until their lease ends. All
 * tenants share the due list, so only the first entries of each shard are read, in one request: a busy tenant costs the
 * others no more.
 */
async function* leasedRuns(
  { records, tenant, now }: Context,
  { from, to }: { readonly from: string; readonly to: string },
): AsyncGenerator<ListedHead> {
  const dueSoon = { to: timeOrder(now() + MAX_LEASED_DUE_MS), limit: MAX_DUE_PER_SHARD };
  const shards = SHARDS.map((shard) => records.list('due', shardGroup(shard), dueSoon));
  // A caller whose access is limited to one tenant cannot read the due list and sees only runs that are not leased.
  const found = await Promise.all(shards).catch((error) => {
    if (isWaitstateError(error, 'STORAGE_DENIED')) return [];
    throw error;
  });
  const isInRange = (time: string): boolean => time >= from && time <= to;
  yield* found
    .flatMap((page) => page.records)
    .filter(({ partition, key }) => key === HEAD_KEY && parsePartition(partition).tenant === tenant)
    .flatMap(readListedHead)
    .filter(({ head }) => isLeased(head) && isInRange(timeOrder(head.updatedAt)))
    .sort((a, b) => b.head.updatedAt - a.head.updatedAt);
}

function matches(head: HeadMeta, filter: RunFilter, statuses: readonly Status[], now: number): boolean {
  const { agent, tag, step, owner } = filter;
  const { updatedAt, retentionMs } = head;
  // The head may be behind the last write, so only runs that have certainly expired are left out.
  const hasSurelyExpired = retentionMs !== undefined && now >= updatedAt + retentionMs + MAX_HEAD_LAG_MS;
  return (
    !hasSurelyExpired &&
    statuses.includes(head.status) &&
    (agent === undefined || head.agent === agent) &&
    (owner === undefined || head.owner === owner) &&
    (tag === undefined || head.tags?.includes(tag) === true) &&
    (step === undefined || isAtStep(head, step))
  );
}

function isAtStep({ step, stepNumber, work }: HeadMeta, wanted: string | number): boolean {
  if (typeof wanted === 'number') return stepNumber === wanted;
  if (step === wanted || !work) return step === wanted;
  // An agent can complete or fail several steps with one checkpoint. A name can have a comma, too.
  const ids = step === undefined ? [] : [step, ...step.split(', ')];
  return ids.some((id) => id === wanted || operationName(id) === wanted);
}

type ListedHead = Omit<ListedRun, 'isMatch'>;

/** The head in a list entry, or nothing for an unreadable one, so that one bad record cannot break a list. */
function readListedHead({ partition, meta }: StoredRecord): readonly ListedHead[] {
  const head = readHeadMeta(meta);
  return isUnreadable(head) ? [] : [{ partition, head }];
}

function checkDate(argument: string, time: Date): number {
  if (time instanceof Date && !Number.isNaN(time.getTime())) return time.getTime();
  throw invalidInput(argument, 'a valid Date', String(time));
}

/** Describes a run without loading its state. */
export async function readRunSummary(at: RunContext): Promise<RunSummary> {
  return toRunSummary(at.partition, (await readLiveHead(at)).meta);
}

/** The summary of a run from its head. */
export function toRunSummary(partition: string, head: HeadMeta): RunSummary {
  const { agent, owner, requestedBy, parent, retentionMs, step, version, stepNumber, shredded = false } = head;
  return {
    run: parsePartition(partition).run,
    status: head.status,
    tags: head.tags ?? [],
    statusChange: { version, stepNumber, ...omitUndefined({ step }) },
    createdAt: new Date(head.createdAt),
    updatedAt: new Date(head.updatedAt),
    forked: head.forked === true,
    encrypted: shredded || head.key !== undefined,
    shredded,
    ...omitUndefined({
      agent,
      owner,
      requestedBy,
      parent,
      waitsFor: head.work?.waits,
      outcome: head.work?.outcome,
      parkedReason: head.work?.parkedReason,
      retention: retentionMs === undefined ? undefined : toDuration(retentionMs),
    }),
  };
}
