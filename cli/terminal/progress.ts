import { dim, type Line, styled } from './line.ts';
import type { Terminal } from './terminal.ts';
import { formatDuration } from './times.ts';

/** The progress of a long operation. */
export interface Progress {
  /** Shows how many are done, of `total` if it is known. */
  update(done: number, total: number | undefined, what: string): void;
  /** Removes the progress line. */
  end(): void;
}

const BAR_WIDTH = 24;
const INITIAL_DELAY_MS = 300;
const UPDATE_INTERVAL_MS = 100;

/** Shows a progress bar on standard error if that is a terminal and the work takes longer than a moment. */
export function createProgress({ replaceLine, now }: Terminal): Progress {
  if (!replaceLine) return { update: () => {}, end: () => {} };
  const startedAt = now();
  let nextUpdate = startedAt + INITIAL_DELAY_MS;
  return {
    update(done, total, what) {
      if (now() < nextUpdate) return;
      nextUpdate = now() + UPDATE_INTERVAL_MS;
      replaceLine(progressLine(done, total, what, now() - startedAt));
    },
    end: () => replaceLine(undefined),
  };
}

/** A bar if the total is known, otherwise only a count. */
function progressLine(done: number, total: number | undefined, what: string, elapsedMs: number): Line {
  const elapsed = dim(` ${formatDuration(elapsedMs)}`);
  const count = done.toLocaleString('en');
  if (total === undefined || total <= 0) return [`${count} ${what}`, elapsed];
  const share = Math.min(1, done / total);
  const full = Math.floor(share * BAR_WIDTH);
  return [
    styled('cyan', '━'.repeat(full)),
    dim('━'.repeat(BAR_WIDTH - full)),
    ` ${String(Math.floor(share * 100)).padStart(3)} %  ${count} of ${total.toLocaleString('en')} ${what}`,
    elapsed,
  ];
}
