import { createHash } from 'node:crypto';
import type { Context } from '../checkpoints/engine.ts';
import { type ListedRun, scanRuns, toRunSummary } from '../checkpoints/engine.ts';
import { parsePartition } from '../core/ids.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { STATUSES, type Status } from '../core/status.ts';
import { checkLimit } from './check-limit.ts';
import type { RunCount, RunsPage, RunsQuery, StatusCounts } from './operator.ts';

/** The most that a page holds, and the most that is read for one: a rare filter then gives short pages. */
const MOST_RUNS = 100;
const MOST_READ = 1000;

/** Where a page ended: the moment of its last run, and which runs of that moment were looked at. */
interface Place {
  readonly at: number;
  readonly seen: readonly string[];
}

/** A page of the runs that fit. It may be short; only a missing cursor means the end. */
export async function loadRunsPage(context: Context, query: RunsQuery): Promise<RunsPage> {
  const { cursor, id, limit = MOST_RUNS, ...filter } = query;
  checkLimit(limit, MOST_RUNS);
  const after = cursor === undefined ? undefined : placeOf(cursor);
  const until = after && new Date(Math.min(after.at + 1, filter.until?.getTime() ?? Infinity));
  const found = new Map<string, ListedRun>();
  const seen = new Map<number, Set<string>>(after && [[after.at, new Set(after.seen)]]);
  let read = 0;
  for await (const listed of scanRuns(context, { ...filter, ...(until && { until }) })) {
    const { partition, head, isMatch: fits } = listed;
    const ofMoment = seen.get(head.touchedAt) ?? new Set();
    if (ofMoment.has(markOf(partition))) continue;
    if (found.size >= limit || read >= MOST_READ) {
      const [at, runs] = [...seen].at(-1) ?? [0, new Set<string>()];
      return { runs: summaries(found), cursor: cursorOf({ at, seen: [...runs] }) };
    }
    read += 1;
    // Only the last moment is needed to go on.
    if (!seen.has(head.touchedAt)) seen.clear();
    seen.set(head.touchedAt, ofMoment.add(markOf(partition)));
    // A run that moves from one list to another may be in both.
    if (fits && (id === undefined || parsePartition(partition).run.includes(id))) found.set(partition, listed);
  }
  return { runs: summaries(found) };
}

const summaries = (found: ReadonlyMap<string, ListedRun>) =>
  [...found.values()].map(({ partition, head }) => toRunSummary(partition, head));

/** A few characters that tell the runs of one moment apart. */
const markOf = (partition: string): string => createHash('sha256').update(partition).digest('base64url').slice(0, 6);

const cursorOf = ({ at, seen }: Place): string => `${at.toString(36)}.${seen.join('')}`;

function placeOf(cursor: string): Place {
  const [, at = '', marks = ''] = /^([0-9a-z]{1,11})\.((?:[\w-]{6})+)$/.exec(cursor) ?? [];
  if (at === '') throw invalidInput('`cursor`', 'that of an earlier page', cursor);
  return { at: Number.parseInt(at, 36), seen: marks.match(/.{6}/g) ?? [] };
}

const MOST_COUNTED = 1000;

/** How many runs have each status; what is counted is read, so it stops at a thousand each. */
export async function countRuns(context: Context): Promise<StatusCounts> {
  const counted = await Promise.all(STATUSES.map(async (status) => [status, await countOf(context, status)] as const));
  return Object.fromEntries(counted) as StatusCounts;
}

async function countOf(context: Context, status: Status): Promise<RunCount> {
  const runs = new Set<string>();
  for await (const { partition, isMatch: fits } of scanRuns(context, { status })) {
    if (!fits) continue;
    if (runs.size >= MOST_COUNTED && !runs.has(partition)) return { count: MOST_COUNTED, isMore: true };
    runs.add(partition);
  }
  return { count: runs.size, isMore: false };
}
