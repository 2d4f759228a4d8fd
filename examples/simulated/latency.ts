import { setTimeout as pause } from 'node:timers/promises';

/** How long a simulated service takes to answer, so that a person sees a run move. Tests make it nothing. */
export const latency = { milliseconds: 500 };

/** Takes as long as a simulated service does. */
export const simulateLatency = (): Promise<void> => pause(latency.milliseconds);
