import type { CheckpointSummary, HeadMeta } from '../../checkpoints/engine.ts';
import { hasEnded, isWaiting } from '../../core/status.ts';
import { WAITS_LABEL } from './checkpoint-labels.ts';

/** What a run does between two checkpoints; `ended` until it is retried or rewound. */
export type Activity = 'step' | 'waiting' | 'queued' | 'crash' | 'ended';

/** The order of the times in the head. The number of crashes follows them. */
export const ACTIVITIES = ['step', 'waiting', 'queued', 'crash', 'ended'] as const satisfies readonly Activity[];

/** What a run did after a checkpoint, until it was claimed or another checkpoint followed. */
export function activityAfter(
  { status, kind, labels }: Pick<CheckpointSummary, 'status' | 'kind'> & { readonly labels?: object | undefined },
  isClaim: boolean,
): Activity {
  if (hasEnded(status)) return 'ended';
  if (isWaiting(status) || (status === 'ENDING' && labels && WAITS_LABEL in labels)) return 'waiting';
  if (status === 'READY' || (status === 'ENDING' && kind === 'cancel' && isClaim)) return 'queued';
  return isClaim ? 'crash' : 'step';
}

/**
 * The milliseconds of each activity from the start of a run until now. The head keeps them, so that the totals of a long
 * run need not be added up from its history. `before` is the newest checkpoint so far.
 */
export function spentUntil(
  { work, createdAt }: HeadMeta,
  before: Parameters<typeof activityAfter>[0] & { readonly time: number; readonly usedAt: number | undefined },
  isClaim: boolean,
  now: number,
): readonly number[] {
  const spent = Array.from({ length: ACTIVITIES.length + 1 }, (_, i) => work?.spent?.[i] ?? 0);
  const add = (activity: Activity, ms: number) => {
    const i = ACTIVITIES.indexOf(activity);
    spent[i] = (spent[i] ?? 0) + Math.max(0, Math.round(ms));
  };
  const activity = activityAfter(before, isClaim);
  const since = countedUntil(createdAt, spent);
  const idleSince = activity === 'step' ? now : Math.max(since, before.usedAt ?? before.time);
  add('step', idleSince - since);
  add(activity, now - idleSince);
  if (activity === 'crash') spent[ACTIVITIES.length] = (spent[ACTIVITIES.length] ?? 0) + 1;
  return spent;
}

/** The time until which the head counts. */
export const countedUntil = (createdAt: number, spent: readonly number[] = []): number =>
  spent.slice(0, ACTIVITIES.length).reduce((sum, ms) => sum + ms, createdAt);
