import { createHash } from 'node:crypto';
import { type Context, type ListedRun, scanRuns, toRunSummary } from '../checkpoints/engine.ts';
import { parsePartition } from '../core/ids.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { STATUSES, type Status } from '../core/status.ts';
import { checkLimit } from './check-limit.ts';
import type { RunCount, RunsPage, RunsQuery, StatusCounts } from './operator.ts';

/** The most runs on a page, and the most that are read for one; a filter that few runs match gives short pages. */
const MAX_PAGE_RUNS = 100;
const MAX_READ_RUNS = 1000;

/** Where a page ended: the time of its last run, and the runs of that time that were read. */
interface PagePosition {
  readonly at: number;
  readonly seen: readonly string[];
}

/** Loads a page of the runs that match. A page may be short; only a missing cursor means the end. */
export async function loadRunsPage(context: Context, query: RunsQuery): Promise<RunsPage> {
  const { cursor, id, limit = MAX_PAGE_RUNS, ...filter } = query;
  checkLimit(limit, MAX_PAGE_RUNS);
  const after = cursor === undefined ? undefined : parseCursor(cursor);
  const until = after && new Date(Math.min(after.at + 1, filter.until?.getTime() ?? Infinity));
  const found = new Map<string, ListedRun>();
  const seen = new Map<number, Set<string>>(after && [[after.at, new Set(after.seen)]]);
  let read = 0;
  for await (const listed of scanRuns(context, { ...filter, ...(until && { until }) })) {
    const { partition, head, isMatch } = listed;
    const sameTime = seen.get(head.updatedAt) ?? new Set();
    if (sameTime.has(shortHash(partition))) continue;
    if (found.size >= limit || read >= MAX_READ_RUNS) {
      const [at, runs] = [...seen].at(-1) ?? [0, new Set<string>()];
      return { runs: toSummaries(found), cursor: formatCursor({ at, seen: [...runs] }) };
    }
    read += 1;
    // The next page needs only the runs of the last time.
    if (!seen.has(head.updatedAt)) seen.clear();
    seen.set(head.updatedAt, sameTime.add(shortHash(partition)));
    // A run that moves from one index to another may be in both.
    if (isMatch && (id === undefined || parsePartition(partition).run.includes(id))) found.set(partition, listed);
  }
  return { runs: toSummaries(found) };
}

const toSummaries = (found: ReadonlyMap<string, ListedRun>) =>
  [...found.values()].map(({ partition, head }) => toRunSummary(partition, head));

/** A few characters that tell runs of the same time apart. */
const shortHash = (partition: string): string => createHash('sha256').update(partition).digest('base64url').slice(0, 6);

const formatCursor = ({ at, seen }: PagePosition): string => `${at.toString(36)}.${seen.join('')}`;

function parseCursor(cursor: string): PagePosition {
  const [, at = '', marks = ''] = /^([0-9a-z]{1,11})\.((?:[\w-]{6})+)$/.exec(cursor) ?? [];
  if (at === '') throw invalidInput('`cursor`', 'the cursor of an earlier page', cursor);
  return { at: Number.parseInt(at, 36), seen: marks.match(/.{6}/g) ?? [] };
}

const MAX_COUNTED = 1000;

/** Counts the runs of each status. Counting reads the runs, so it stops at a thousand each. */
export async function countRuns(context: Context): Promise<StatusCounts> {
  const counted = await Promise.all(
    STATUSES.map(async (status) => [status, await countWithStatus(context, status)] as const),
  );
  return Object.fromEntries(counted) as StatusCounts;
}

async function countWithStatus(context: Context, status: Status): Promise<RunCount> {
  const runs = new Set<string>();
  for await (const { partition, isMatch } of scanRuns(context, { status })) {
    if (!isMatch) continue;
    if (runs.size >= MAX_COUNTED && !runs.has(partition)) return { count: MAX_COUNTED, hasMore: true };
    runs.add(partition);
  }
  return { count: runs.size, hasMore: false };
}
