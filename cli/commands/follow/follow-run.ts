import { setTimeout as wait } from 'node:timers/promises';
import type { RunEvent, RunEventsPage } from '../../../lambda/operator/run-events.ts';
import type { Target } from '../../target/target.ts';

/** What follows a run. */
export type FollowedEvent = RunEvent | { readonly type: 'status'; readonly status: RunEventsPage['status'] };

export interface FollowRunOptions {
  /** The cursor or the id of the last known event. @default from the beginning */
  readonly after?: string | undefined;
  /** Whether to continue until the run ends. @default stops after the events so far */
  readonly follow?: boolean | undefined;
}

// The storage of a stack charges for each read.
const POLL_MS = { folder: 300, aws: 1_500 } as const;
const MAX_IDLE_MS = 5_000;

/**
 * What happened in a run after a cursor, in order, with each change of its status; each value is what one request found.
 * It reads the storage with the cursors of `GET /api/runs/{run}/events`, so that it neither misses nor repeats an event.
 */
export async function* followRun(
  { operator, resolved }: Pick<Target, 'operator' | 'resolved'>,
  run: string,
  { after, follow = false }: FollowRunOptions,
): AsyncGenerator<readonly FollowedEvent[]> {
  let cursor = after;
  let status: string | undefined;
  let idle = 0;
  for (;;) {
    const page = await operator.events(run, { after: cursor, includeOutput: follow });
    const isLast = !page.hasMore || page.events.length === 0;
    // The status is that of now, so it comes after the last stored event.
    const hasChanged = isLast && page.status !== status;
    const isNew = page.events.length > 0 || hasChanged;
    if (isNew) yield hasChanged ? [...page.events, { type: 'status', status: page.status }] : page.events;
    if (hasChanged) status = page.status;
    if (page.hasEnded || (!follow && isLast)) return;
    cursor = page.cursor;
    idle = isNew ? 0 : idle + 1;
    if (isLast) await wait(Math.min(POLL_MS[resolved.kind] * 1.3 ** idle, MAX_IDLE_MS));
  }
}
