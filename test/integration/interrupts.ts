import type { EventEmitter } from 'node:events';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

// npm passes on what the terminal has sent to all of its programs already.
const SAME_MS = 1_000;

/** What somebody wants who presses Ctrl-C: to stop, and pressed again later, to leave everything as it is. */
export interface Interrupts {
  readonly stop: AbortSignal;
  readonly leave: AbortSignal;
}

/** Hears signals instead of dying of them, so that what was deployed is removed. */
export function interruptsOf(process: EventEmitter, now: () => number = Date.now): Interrupts {
  const [stop, leave] = [new AbortController(), new AbortController()];
  let last = -Infinity;
  const hear = (): void => {
    const isSame = now() - last < SAME_MS;
    last = now();
    if (!stop.signal.aborted) stop.abort(new Error('It was stopped.'));
    else if (!isSame) leave.abort(new Error('It was left as it is.'));
  };
  for (const signal of SIGNALS) process.on(signal, hear);
  return { stop: stop.signal, leave: leave.signal };
}
