import { setTimeout as pause } from 'node:timers/promises';

/** How long a simulated service takes to respond, so that you can watch a run progress. Tests set it to 0. */
export const latency = { milliseconds: 500 };

/** Waits as long as a simulated service takes to respond. */
export const simulateLatency = (): Promise<void> => pause(latency.milliseconds);
