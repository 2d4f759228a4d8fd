import type { ModelParameters } from '../checkpoints/engine.ts';

/** What a span of an invocation is about. */
export interface InvocationSpan {
  readonly tenant: string;
  readonly run: string;
  readonly agent: string;
}

/** What a span of a step is about. */
export interface StepSpan {
  readonly name: string;
  readonly kind: 'step' | 'tool' | 'undo';
  readonly attempt: number;
  readonly model?: ModelParameters | undefined;
}

/**
 * Traces invocations of an agent and the steps that they execute; replayed steps have no span. Both methods run the work
 * and return what it returns. Spans contain ids and names, and never a state, an input or a message of an error.
 */
export interface Spans {
  invocation<End extends { readonly end: string }>(about: InvocationSpan, work: () => Promise<End>): Promise<End>;
  step<T>(about: StepSpan, work: () => Promise<T>): Promise<T>;
}
