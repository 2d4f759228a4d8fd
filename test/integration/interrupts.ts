import type { EventEmitter } from 'node:events';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

// The terminal sends the signal to all processes, and npm forwards it once more.
const DUPLICATE_MS = 1_000;

/** The first Ctrl-C stops the test; a second one, at least a second later, also stops the clean-up. */
export interface Interrupts {
  readonly stop: AbortSignal;
  readonly leave: AbortSignal;
}

/** Handles signals, so that the process lives on to remove the stack. */
export function interruptsOf(process: EventEmitter, now: () => number = Date.now): Interrupts {
  const [stop, leave] = [new AbortController(), new AbortController()];
  let last = -Infinity;
  const onSignal = (): void => {
    const isDuplicate = now() - last < DUPLICATE_MS;
    last = now();
    if (!stop.signal.aborted) stop.abort(new Error('The test was stopped.'));
    else if (!isDuplicate) leave.abort(new Error('The clean-up was stopped.'));
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return { stop: stop.signal, leave: leave.signal };
}
