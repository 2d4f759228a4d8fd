import { HoldpointError } from '../core/errors.ts';
import { escapeId, idsOf } from '../core/ids.ts';
import { STATUSES, type Status } from '../core/status.ts';
import type { ListName, PageOptions, StoredRecord } from '../storage/ports.ts';
import type { CheckpointSummary, RunSummary } from './checkpoint.ts';
import type { Context, RunContext } from './context.ts';
import {
  type HeadMeta,
  MAX_VERSION,
  readCheckpoint,
  readMeta,
  runSummaryOf,
  summaryOf,
  TOUCH_MS,
  timeOrder,
  versionKey,
} from './records.ts';
import { checkVersion, readLiveHead } from './tail.ts';

export interface HistoryOptions {
  readonly newestFirst?: boolean;
  /** Only versions from this one, and up to that one. */
  readonly from?: number;
  readonly to?: number;
  readonly limit?: number;
}

/** The checkpoints of a run without their states, page by page. */
export async function* history(at: RunContext, options: HistoryOptions): AsyncGenerator<CheckpointSummary> {
  const { from = 1, to = MAX_VERSION, newestFirst = false } = options;
  checkVersion(from, 'from');
  checkVersion(to, 'to');
  const limit = checkLimit(options.limit);
  await readLiveHead(at);
  let count = 0;
  for await (const record of allRecords(at, { from: versionKey(from), to: versionKey(to), newestFirst }, limit)) {
    yield summaryOf(at.run, readCheckpoint(record));
    if (++count >= limit) return;
  }
}

/** Every record of a range of keys, page by page. */
export async function* allRecords(
  at: RunContext,
  options: PageOptions,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<StoredRecord> {
  yield* pages((page) => at.records.range(at.partition, { ...options, ...page }), limit);
}

/** Which runs: all conditions must hold. */
export interface RunFilter {
  readonly status?: Status | readonly Status[];
  readonly agent?: string;
  readonly owner?: string;
  readonly tag?: string;
  /** The step, by name or number, at which the run last changed its status. */
  readonly step?: string | number;
  /** Runs that were touched from this moment, and before that one. */
  readonly since?: Date;
  readonly until?: Date;
  readonly limit?: number;
}

/** The runs of the tenant, last touched first. The list may be a moment behind. */
export async function* runs(context: Context, filter: RunFilter): AsyncGenerator<RunSummary> {
  const limit = checkLimit(filter.limit);
  const statuses = filter.status === undefined ? STATUSES : [...new Set([filter.status].flat())];
  for (const status of statuses) {
    if (!STATUSES.includes(status))
      throw new HoldpointError(
        'INVALID_INPUT',
        `\`status\` must be one of ${STATUSES.join(', ')}; found ${String(status)}.`,
      );
  }
  const tenant = escapeId('tenant', context.tenant);
  const range = {
    newestFirst: true,
    from: timeOrder(timeOf('since', filter.since) ?? 0),
    to: timeOrder((timeOf('until', filter.until) ?? 999_999_999_999_999) - (filter.until ? 1 : 0)),
  };
  const source = (list: ListName, group: string) =>
    pages((page) => context.records.list(list, `${tenant}/${group}`, { ...range, ...page }), limit);
  const sources =
    filter.owner === undefined
      ? statuses.map((status) => source('status', status))
      : [source('owner', escapeId('owner', filter.owner))];
  let count = 0;
  for await (const { partition, head } of merged(sources)) {
    if (isOver(head, context.now()) || !matches(head, filter, statuses)) continue;
    yield runSummaryOf(partition, head);
    if (++count >= limit) return;
  }
}

function matches(head: HeadMeta, filter: RunFilter, statuses: readonly Status[]): boolean {
  const { agent, tag, step, owner } = filter;
  return (
    statuses.includes(head.status) &&
    (agent === undefined || head.agent === agent) &&
    (owner === undefined || head.owner === owner) &&
    (tag === undefined || head.tags?.includes(tag) === true) &&
    (step === undefined || (typeof step === 'number' ? head.stepNumber : head.step) === step)
  );
}

/** Whether the retention is over for sure; the head may be behind the last write. */
const isOver = ({ touched, retention }: HeadMeta, now: number): boolean =>
  retention !== undefined && now >= touched + retention + TOUCH_MS;

type Listed = { readonly partition: string; readonly head: HeadMeta };

/** Joins lists that are each newest first into one. */
async function* merged(sources: readonly AsyncGenerator<StoredRecord>[]): AsyncGenerator<Listed> {
  const next = async (
    source: AsyncGenerator<StoredRecord>,
  ): Promise<(Listed & { source: typeof source }) | undefined> => {
    const { value, done } = await source.next();
    return done ? undefined : { partition: value.partition, head: readMeta<HeadMeta>(value), source };
  };
  const fronts = (await Promise.all(sources.map(next))).filter((front) => front !== undefined);
  while (fronts.length > 0) {
    let newest = 0;
    for (const [index, front] of fronts.entries())
      if (front.head.touched > (fronts[newest]?.head.touched ?? 0)) newest = index;
    const [front] = fronts.splice(newest, 1);
    if (!front) return;
    yield front;
    const following = await next(front.source);
    if (following) fronts.push(following);
  }
}

const PAGE = 100;

async function* pages(
  read: (page: { limit: number; after?: string }) => Promise<{ records: readonly StoredRecord[]; next?: string }>,
  limit: number,
): AsyncGenerator<StoredRecord> {
  let after: string | undefined;
  do {
    const page = await read({ limit: Math.min(limit, PAGE), ...(after !== undefined && { after }) });
    yield* page.records;
    after = page.next;
  } while (after !== undefined);
}

function checkLimit(limit: number | undefined): number {
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  if (Number.isSafeInteger(limit) && limit > 0) return limit;
  throw new HoldpointError('INVALID_INPUT', `\`limit\` must be a whole number above 0; found ${limit}.`);
}

function timeOf(what: string, time: Date | undefined): number | undefined {
  if (time === undefined) return undefined;
  if (time instanceof Date && !Number.isNaN(time.getTime())) return time.getTime();
  throw new HoldpointError('INVALID_INPUT', `\`${what}\` must be a valid Date; found ${String(time)}.`);
}

/** The summary of one run. */
export async function runSummary(at: RunContext): Promise<RunSummary> {
  return runSummaryOf(at.partition, (await readLiveHead(at)).meta);
}

/** Whether a partition is of this tenant. */
export const isOf = (tenant: string, partition: string): boolean => idsOf(partition).tenant === tenant;
