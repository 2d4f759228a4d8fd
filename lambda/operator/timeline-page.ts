import {
  type CheckpointSummary,
  type HeadMeta,
  type RunContext,
  readCheckpoint,
  readNewest,
  runNotFound,
  scanRecords,
  toCheckpointSummary,
} from '../checkpoints/engine.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { hasEnded } from '../core/status.ts';
import { ACTIVITIES, countedUntil } from '../runtime/journal/spent.ts';
import { versionKey } from '../storage/keys.ts';
import { checkLimit } from './check-limit.ts';
import { buildTimeline, type CurrentRun, currentSpans, type Span, type SpanKind, type Timeline } from './timeline.ts';

/** Which part of a timeline to load. */
export interface TimelineQuery {
  /** The newest version. @default the newest of the run */
  readonly to?: number;
  /** The most checkpoints. @default 50, at most 1,000 */
  readonly limit?: number;
  /** Only spans that contain this text: the name of a step, a status, or a word such as `crash` or `failed`. */
  readonly find?: string;
  /** The current time. @default the time of the storage */
  readonly now?: Date;
}

/** A part of the timeline of a run. */
export interface TimelinePage extends Timeline {
  /** The oldest and the newest version that was read. */
  readonly first: number;
  readonly last: number;
  /**
   * Whether the totals are of the whole run. If not, they are of this page. Failed attempts of a run with several pages
   * are counted as work.
   */
  readonly isWhole: boolean;
  /** Pass it as `to` for the page before; absent on the first page of the run. */
  readonly next?: number;
}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;
/** How many checkpoints one search reads. */
const MAX_SEARCHED = 1000;

/**
 * Loads the newest spans of a run, or those before a version. It reads only that part of the history: the totals of a
 * long run are kept in its head.
 */
export async function loadTimelinePage(at: RunContext, query: TimelineQuery): Promise<TimelinePage> {
  const { limit = DEFAULT_LIMIT, find = '' } = query;
  checkLimit(limit, MAX_LIMIT);
  const run = await readNewest(at);
  if (!run) throw runNotFound(at);
  const newest = toCheckpointSummary(at.run, run.newest);
  const to = Math.max(1, Math.min(query.to ?? newest.version, newest.version));
  const isSearch = find.trim() !== '';
  const from = Math.max(1, to - (isSearch ? MAX_SEARCHED : limit) + 1);
  const checkpoints = await readCheckpoints(at, from, to);
  const current = toCurrentRun(run.head.meta, query.now ?? new Date(at.now()));
  const isNewest = to === newest.version;
  const timeline = buildTimeline(checkpoints, isNewest ? current : undefined);
  const spans = isSearch ? timeline.spans.filter((span) => matches(span, find)).slice(-limit) : timeline.spans;
  const first = isSearch && spans.length === limit ? (spans[0]?.checkpoint?.version ?? from) : from;
  const isWhole = from === 1 && isNewest;
  const kept = isWhole ? undefined : keptTotals(run.head.meta, newest, current);
  return {
    ...timeline,
    ...kept,
    spans,
    first,
    last: to,
    isWhole: isWhole || kept !== undefined,
    ...omitUndefined({ next: first > 1 ? first - 1 : undefined }),
  };
}

/** Reads a range of checkpoints, and the one before it, at which the first span starts. */
async function readCheckpoints(at: RunContext, from: number, to: number): Promise<readonly CheckpointSummary[]> {
  const range = { from: versionKey(Math.max(1, from - 1)), to: versionKey(to), limit: to - from + 2 };
  const stored = await Array.fromAsync(scanRecords(at, range));
  return stored.map((record) => toCheckpointSummary(at.run, readCheckpoint(record)));
}

/** The current time of a run that has not ended; it is unknown whether a program that saves checkpoints still runs. */
function toCurrentRun({ status, work, updatedAt }: HeadMeta, now: Date): CurrentRun | undefined {
  if (hasEnded(status) || (!work && status === 'RUNNING')) return undefined;
  return { now, status, updatedAt: new Date(updatedAt) };
}

/** The totals that the head of a durable run keeps, and the time since. Failed attempts are part of the work. */
function keptTotals(
  { work, createdAt }: HeadMeta,
  newest: CheckpointSummary,
  current: CurrentRun | undefined,
): Pick<Timeline, 'totals' | 'crashes' | 'failures'> | undefined {
  if (!work?.spent) return undefined;
  const totals = { step: 0, failure: 0, queued: 0, waiting: 0, crash: 0, change: 0 };
  for (const [i, activity] of ACTIVITIES.entries()) if (activity !== 'ended') totals[activity] += work.spent[i] ?? 0;
  if (current) {
    totals.step += Math.max(0, newest.savedAt.getTime() - countedUntil(createdAt, work.spent));
    for (const { kind, from, to } of currentSpans(newest, current)) totals[kind] += to.getTime() - from.getTime();
  }
  return { totals, crashes: work.spent[ACTIVITIES.length] ?? 0, failures: 0 };
}

/** The words of each kind of span. */
export const SPAN_KIND_WORDS: Readonly<Record<SpanKind, string>> = {
  step: 'working',
  waiting: 'waiting',
  queued: 'queued',
  failure: 'failed attempts',
  crash: 'lost to crashes',
  change: 'external changes',
};

function matches({ kind, label, parts = [], checkpoint }: Span, find: string): boolean {
  const wanted = find.trim().toLowerCase();
  const words = kind === 'step' ? '' : SPAN_KIND_WORDS[kind];
  const texts = [label, words, checkpoint?.name ?? '', checkpoint?.step ?? '', ...parts.map((part) => part.label)];
  return String(checkpoint?.version) === wanted || texts.some((text) => text.toLowerCase().includes(wanted));
}
