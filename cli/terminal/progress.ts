import { dim, type Line, styled } from './line.ts';
import type { Terminal } from './terminal.ts';
import { formatDuration } from './times.ts';

/** How far some long work is. */
export interface Progress {
  /** `total` where it is known. */
  update(done: number, total: number | undefined, what: string): void;
  /** Takes it away, so that what follows stands alone. */
  end(): void;
}

const WIDTH = 24;
const PATIENCE_MS = 300;
const EVERY_MS = 100;

/** A bar on standard error, where that is a terminal and the work takes longer than a moment; nothing anywhere else. */
export function createProgress({ replaceLine: replace, now }: Terminal): Progress {
  if (!replace) return { update: () => {}, end: () => {} };
  const began = now();
  let next = began + PATIENCE_MS;
  return {
    update(done, total, what) {
      if (now() < next) return;
      next = now() + EVERY_MS;
      replace(barOf(done, total, what, now() - began));
    },
    end: () => replace(undefined),
  };
}

/** One line: a bar where the end is known, otherwise what was done so far. */
function barOf(done: number, total: number | undefined, what: string, elapsedMs: number): Line {
  const since = dim(` ${formatDuration(elapsedMs)}`);
  const count = done.toLocaleString('en');
  if (total === undefined || total <= 0) return [`${count} ${what}`, since];
  const share = Math.min(1, done / total);
  const full = Math.floor(share * WIDTH);
  return [
    styled('cyan', '━'.repeat(full)),
    dim('━'.repeat(WIDTH - full)),
    ` ${String(Math.floor(share * 100)).padStart(3)} %  ${count} of ${total.toLocaleString('en')} ${what}`,
    since,
  ];
}
