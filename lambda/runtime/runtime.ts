import type { ContextFactory } from '../checkpoints/context-factory.ts';
import type { Clock } from './clock.ts';

/** A run that somebody should run. */
export interface Delivery {
  readonly tenant: string;
  readonly run: string;
  readonly agent: string | undefined;
}

/** Where log lines go. */
export type Log = (
  level: 'info' | 'warn' | 'error',
  message: string,
  fields: Readonly<Record<string, unknown>>,
) => void;

/** What everything that is done to runs stands on. */
export interface Runtime {
  readonly contexts: ContextFactory;
  readonly clock: Clock;
  /** A number from 0 to 1, for pauses. */
  readonly random: () => number;
  /** Brings a run that is ready to a process. On AWS nobody has to: the table's stream does. */
  readonly deliver?: ((delivery: Delivery) => Promise<void>) | undefined;
  readonly log: Log;
  /** For tests: sees each step pass, and may say that the process dies there. */
  readonly probe?: Probe | undefined;
}

/** Where a step is: its function is about to run, has returned, or its result is recorded. */
export type StepPhase = 'before' | 'after' | 'recorded';
export type Probe = (moment: StepPhase, run: string, step: string) => 'crash' | undefined;

/** Delivers a run, or leaves that to the sweeper. */
export async function deliver({ deliver: bring, log }: Runtime, delivery: Delivery): Promise<void> {
  try {
    await bring?.(delivery);
  } catch (error) {
    log('warn', 'A run could not be delivered; the sweeper will.', { ...delivery, error: String(error) });
  }
}
