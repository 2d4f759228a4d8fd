import type { Draft, ModelParameters, Payload, PayloadContent, PayloadOptions } from '../../checkpoints/engine.ts';
import type { ApprovalRequest } from '../../core/approval.ts';
import type { Duration } from '../../core/duration.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { StandardSchema } from './standard-schema.ts';

/** What a step gets to work with. */
export interface StepContext {
  /** The same for every attempt of this step in this run: pass it to services that take one. */
  readonly idempotencyKey: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Aborts when the step's time is over, or that of the function. */
  readonly signal: AbortSignal;
}

export interface StepOptions<T = unknown> {
  /** Tells this step from others of its name that are under way at the same time. */
  readonly key?: string;
  /** @default three attempts */
  readonly retry?: RetryPolicy;
  /**
   * Records that the step begins before it does. When a crash leaves it unknown how it ended, the step fails with
   * OUTCOME_UNKNOWN instead of running again. @default false
   */
  readonly atMostOnce?: boolean;
  /** Fails an attempt that takes longer. @default none */
  readonly timeout?: Duration;
  /** Takes the step back when the run fails or is cancelled later; itself a step. */
  readonly undo?: (result: T, tools: StepContext) => unknown;
  /** The model that the step asks, and its parameters: kept with the checkpoint of its answer. */
  readonly model?: ModelParameters;
  /**
   * Writes of your own in the transaction that records the step, on DynamoDB: items of TransactWriteItems, at most 90.
   * The agent must say `transact: true`. When a condition of theirs fails, that is the error of the step.
   */
  readonly transact?: (result: T) => readonly object[];
}

export interface ToolOptions<T = unknown> extends Omit<StepOptions<T>, 'key'> {
  /** The id that the model gave the call. @default how often the tool was called before */
  readonly callId?: string;
  /**
   * Reuses the result of an earlier call with equal arguments: within the run, for so long, and among all runs of the
   * tenant when `shared`. @default false
   */
  readonly cache?: boolean | (Duration & { readonly ttl?: Duration; readonly shared?: boolean });
}

export interface SignalOptions {
  /** Gives undefined when no signal came in this time. @default waits for ever */
  readonly timeout?: Duration;
}

/** What people answered. */
export interface Decision<Edits = unknown, F extends Facts | undefined = Facts | undefined> {
  readonly approved: boolean;
  readonly status: 'APPROVED' | 'REJECTED' | 'EXPIRED' | 'WITHDRAWN' | 'CHANGED';
  /** Who decided. */
  readonly by: readonly string[];
  readonly comment?: string;
  readonly edits?: Edits;
  readonly at: Date;
  /** How often it was asked. */
  readonly asks: number;
  /** The SHA-256 of what was shown. */
  readonly shown?: string;
  /** The facts that were decided on: when people were asked again, not those of the first time. */
  readonly facts: F;
}

/** What a decision depends on. */
export type Facts = Readonly<Record<string, unknown>>;

/** A question to people, and what may change under their answer. */
export interface ApprovalOptions<Edits = unknown, F extends Facts = Facts>
  extends Omit<ApprovalRequest, 'title' | 'show' | 'facts'> {
  /** The question; made anew from the facts when they changed, where it is a function. */
  readonly title: string | ((facts: F) => string);
  /** What is shown with it. */
  readonly show?: object | string | number | bigint | boolean | null | ((facts: F) => unknown);
  readonly facts?: F;
  readonly key?: string;
  /** What those who decide may change; with a schema, what they change is checked by it. @default false */
  readonly editable?: boolean | StandardSchema<unknown, Edits>;
  /** Looks at the facts again after the approval; when they changed, people are asked again. */
  readonly recheck?: () => F | Promise<F>;
  /** Whether facts are still the same, for example within a tolerance. @default deeply equal */
  readonly same?: (asked: F, now: F) => boolean;
  /** How often people are asked at most. @default 3 */
  readonly maxAsks?: number;
}

export interface CallOptions {
  readonly key?: string;
  /** The id of the child run. @default made from the parent's and the place in it */
  readonly id?: string;
}

export interface BranchOptions {
  /** How many branches are under way at the same time. @default all */
  readonly concurrency?: number;
  readonly key?: string;
}

/** With `enough`, branches that were not needed are left. */
export type BranchOutcome<T> =
  | { readonly status: 'fulfilled'; readonly value: T }
  | { readonly status: 'rejected'; readonly reason: unknown }
  | { readonly status: 'left' };

type Branch<State, T> = (ctx: AgentContext<State>) => T | Promise<T>;
type Results<B> = { -readonly [K in keyof B]: B[K] extends (ctx: never) => infer R ? Awaited<R> : never };
type Outcomes<B> = {
  -readonly [K in keyof B]: B[K] extends (ctx: never) => infer R ? BranchOutcome<Awaited<R>> : never;
};
type Branches<State> = readonly Branch<State, unknown>[] | { readonly [name: string]: Branch<State, unknown> };

/** Another agent, by itself or by name. */
export type Callable<Input, Result> =
  | string
  | {
      readonly name: string;
      /** What the schema of its input makes of a value; refuses one that does not fit. */
      readonly parseInput: (input: unknown) => Promise<unknown>;
      readonly start: (input: Input) => Promise<{ readonly result: () => Promise<Result> }>;
    };

/** What an agent does durable things with. Every result is recorded before the agent sees it. */
export interface AgentContext<State = unknown> {
  readonly run: string;
  readonly tenant: string;
  readonly agent: string;
  /** The state as of this point of the agent; frozen. */
  readonly state: State;
  /** Runs a piece of work once and records its result. */
  step<T>(name: string, work: (tools: StepContext) => T | Promise<T>, options?: StepOptions<T>): Promise<T>;
  /** The same for a tool of a model: its arguments are part of what is recorded, and results can be reused. */
  tool<A, T>(
    name: string,
    args: A,
    work: (args: A, tools: StepContext) => T | Promise<T>,
    options?: ToolOptions<T>,
  ): Promise<T>;
  /** Changes the state; gives the new one. */
  update(edit: (draft: Draft<State>) => State | Draft<State> | void): Promise<State>;
  /** Asks people and suspends the run until they decided. */
  approval<Edits = unknown, F extends Facts = Facts>(
    name: string,
    options: ApprovalOptions<Edits, F> & { readonly facts: F },
  ): Promise<Decision<Edits, F>>;
  approval<Edits = unknown>(name: string, options: ApprovalOptions<Edits>): Promise<Decision<Edits>>;
  /** Waits; above some seconds nothing runs meanwhile. */
  sleep(name: string, duration: Duration): Promise<void>;
  /** The next signal of this name; each is received once, in their order. */
  waitForSignal<T = unknown>(
    name: string,
    options: SignalOptions & { readonly timeout: Duration },
  ): Promise<T | undefined>;
  waitForSignal<T = unknown>(name: string, options?: SignalOptions): Promise<T>;
  /** Starts another agent as a child run, and waits for its result. */
  call<Input, Result>(agent: Callable<Input, Result>, input: Input, options?: CallOptions): Promise<Result>;
  /** Runs branches side by side, each with a context of its own. */
  all<const B extends Branches<State>>(name: string, branches: B, options?: BranchOptions): Promise<Results<B>>;
  all<const B extends Branches<State>>(
    name: string,
    branches: B,
    options: BranchOptions & { readonly enough: number },
  ): Promise<Outcomes<B>>;
  /** The same function for each item. */
  map<I, T>(
    name: string,
    items: readonly I[],
    work: (ctx: AgentContext<State>, item: I, index: number) => T | Promise<T>,
    options?: BranchOptions,
  ): Promise<T[]>;
  map<I, T>(
    name: string,
    items: readonly I[],
    work: (ctx: AgentContext<State>, item: I, index: number) => T | Promise<T>,
    options: BranchOptions & { readonly enough: number },
  ): Promise<BranchOutcome<T>[]>;
  /** Writes to the log, once: not again when the agent is replayed. */
  log(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Bytes kept by reference, for states and results. */
  payload(content: PayloadContent, options?: PayloadOptions): Payload;
  /** The time, recorded. */
  now(): Promise<Date>;
  /** A number from 0 to 1 that is the same whenever this point of the run is replayed. */
  random(): number;
  /** A UUID that is the same whenever this point of the run is replayed. */
  uuid(): string;
  /** A checkpoint that can be found by this name. */
  checkpoint(name: string): Promise<void>;
}

/** What `turn` gets besides: how to end the run. */
export interface TurnContext<State = unknown> extends AgentContext<State> {
  /** Return it from `turn` to end the run. */
  done<Result>(result: Result): Done<Result>;
}

/** The end of a run of turns. */
export class Done<Result = unknown> {
  readonly result: Result;

  constructor(result: Result) {
    this.result = result;
  }
}
