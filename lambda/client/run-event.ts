import type { Status } from '../core/status.ts';

/** A checkpoint, without its content. */
export interface CheckpointInfo {
  readonly version: number;
  readonly kind: string;
  readonly status: Status;
  /** The steps that it completed. */
  readonly step?: string;
  readonly stepNumber: number;
  readonly savedAt: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** What happened in a run. Pass the `id` as `after` to continue behind it. */
export type RunEvent =
  /** The agent emitted an event; the checkpoint `version` recorded it. */
  | {
      readonly type: 'event';
      readonly id: string;
      readonly version: number;
      readonly at: string;
      readonly data: unknown;
      readonly step?: string;
      readonly attempt?: number;
    }
  /** A checkpoint was saved. It follows the events that were recorded with it. */
  | { readonly type: 'checkpoint'; readonly id: string; readonly checkpoint: CheckpointInfo }
  /** A running step streamed output. Best effort: the checkpoint that records the step replaces it. */
  | {
      readonly type: 'output';
      readonly step: string;
      readonly attempt: number;
      /** Counts from 0 in each attempt; a gap means that output is missing. */
      readonly number: number;
      readonly output: readonly unknown[];
    }
  /** The status of the run now. */
  | { readonly type: 'status'; readonly id: string; readonly status: Status }
  /** The run has ended; nothing follows. */
  | { readonly type: 'end'; readonly id: string; readonly status: Status };

/** The live output of the steps that are running, by step. */
export type LiveOutput = Readonly<Record<string, readonly unknown[]>>;

/**
 * Adds an event to the live output: output is appended, and dropped when its step is recorded, begins another attempt, or
 * the run stops running. Texts that follow each other are joined.
 */
export function updateOutput(current: LiveOutput, event: RunEvent): LiveOutput {
  if (event.type === 'output') {
    const before = event.number === 0 ? [] : (current[event.step] ?? []);
    return { ...current, [event.step]: joinTexts([...before, ...event.output]) };
  }
  if (event.type === 'end' || (event.type === 'status' && event.status !== 'RUNNING')) return {};
  if (event.type !== 'checkpoint') return current;
  const { step = '', labels } = event.checkpoint;
  // A long list of steps is cut; then nobody knows which of them are recorded.
  if (/ and \d+ more$/.test(step)) return {};
  const recorded = `${step}, ${labels.failed ?? ''}`.split(', ');
  const left = Object.entries(current).filter(([name]) => !recorded.includes(name));
  return left.length === Object.keys(current).length ? current : Object.fromEntries(left);
}

const joinTexts = (output: readonly unknown[]): readonly unknown[] =>
  output.reduce<unknown[]>((joined, next) => {
    const last = joined.at(-1);
    if (typeof last === 'string' && typeof next === 'string') joined[joined.length - 1] = last + next;
    else joined.push(next);
    return joined;
  }, []);
