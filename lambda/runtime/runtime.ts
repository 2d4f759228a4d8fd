import type { ContextFactory } from '../checkpoints/engine.ts';
import type { Clock } from './clock.ts';
import type { Spans } from './spans.ts';

/** A run to be invoked, and the agent that it belongs to. */
export interface Delivery {
  readonly tenant: string;
  readonly run: string;
  readonly agent: string | undefined;
}

/** Writes one log line with structured fields. */
export type Log = (
  level: 'info' | 'warn' | 'error',
  message: string,
  fields: Readonly<Record<string, unknown>>,
) => void;

/** The dependencies of every action on runs. */
export interface Runtime {
  /** @internal */
  readonly contexts: ContextFactory;
  readonly clock: Clock;
  /** A number from 0 to 1, for the jitter of retry delays. */
  readonly random: () => number;
  /** Delivers a READY run to a process. Not needed on AWS, where the table's stream delivers runs. */
  readonly deliver?: ((delivery: Delivery) => Promise<void>) | undefined;
  readonly log: Log;
  /** Traces invocations and steps. */
  readonly spans?: Spans | undefined;
  /** For tests: observes each phase of each step, and can crash or stall the process there. */
  readonly probe?: Probe | undefined;
}

/** The phase of a step: its function is about to run, has returned, or its result is recorded. */
export type StepPhase = 'before' | 'after' | 'recorded';
/** Observes a phase of a step; returns `crash` to end the process there, or a promise for which the step waits. */
export type Probe = (
  phase: StepPhase,
  run: string,
  step: string,
) => 'crash' | undefined | Promise<'crash' | undefined | void>;

/** Delivers a run. Never throws: when delivery fails, the sweeper delivers the run later. */
export async function deliver({ deliver: send, log }: Runtime, delivery: Delivery): Promise<void> {
  try {
    await send?.(delivery);
  } catch (error) {
    log('warn', 'Could not deliver a run; the sweeper will deliver it.', { ...delivery, error: String(error) });
  }
}
