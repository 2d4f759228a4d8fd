import type { Draft, ModelParameters, Payload, PayloadContent, PayloadOptions } from '../../checkpoints/engine.ts';
import type { Person } from '../../core/approval.ts';
import type { Duration } from '../../core/duration.ts';
import type { RawTransactItem, TransactItem } from '../../storage/dynamodb/transact/transact-items.ts';
import type { ApprovalOptions, Decision, Facts } from './approval-options.ts';
import type { Frozen } from './frozen.ts';
import type { Ask } from './question.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { SignalName, SignalSchemas, SignalValue } from './signal-schemas.ts';

export type { ApprovalOptions, Decision, Facts } from './approval-options.ts';

/** The argument of a step's function. */
export interface StepContext {
  /** The same for every attempt of this step in this run. Pass it to services that accept an idempotency key. */
  readonly idempotencyKey: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Aborts when the step's timeout passes, or when the Lambda function is about to time out. */
  readonly signal: AbortSignal;
  /** Emits an event of the run. It is recorded with the outcome of this attempt, in the same checkpoint. */
  readonly emit: (event: unknown) => void;
  /**
   * Shows output while the step runs, such as the tokens of a model. Best effort: nothing of it is recorded, a reader may
   * miss parts, and the recorded result of the step replaces it.
   */
  readonly stream: (output: unknown) => void;
}

/** Options of `ctx.step`. */
export interface StepOptions<T = unknown> {
  /** Distinguishes steps of the same name that run concurrently. */
  readonly key?: string;
  /** @default the agent's retry policy, or three attempts */
  readonly retry?: RetryPolicy;
  /**
   * Records the start of each attempt before the step's function runs. When a crash leaves the outcome of an attempt
   * unknown, the step fails with OUTCOME_UNKNOWN instead of running again. @default false
   */
  readonly atMostOnce?: boolean;
  /** Fails an attempt that takes longer. @default none */
  readonly timeout?: Duration;
  /** Undoes the step when the run fails or is cancelled later. It runs as a step: recorded and retried. */
  readonly undo?: (result: T, step: StepContext) => unknown;
  /** The model that the step calls, and its parameters; stored with the checkpoint of the step. */
  readonly model?: ModelParameters;
  /**
   * Adds your own writes to the transaction that records the step, in plain JavaScript: the TransactItems of
   * TransactWriteCommand in @aws-sdk/lib-dynamodb, at most 90. DynamoDB only; requires `transact: true` on the agent.
   * The step fails with CONDITION_FAILED when a condition of an item fails.
   */
  readonly transact?: (result: T) => readonly TransactItem[];
  /** As `transact`, with attribute values such as `{ S: 'x' }`. With both, the 90 items are in total. */
  readonly transactRaw?: (result: T) => readonly RawTransactItem[];
}

/** Options of `ctx.tool`. */
export interface ToolOptions<T = unknown> extends Omit<StepOptions<T>, 'key'> {
  /** The id that the model gave the tool call. @default a counter of the calls of this tool */
  readonly callId?: string;
  /**
   * Reuses the result of an earlier call with equal arguments: `true` within the run, a duration or `ttl` to limit its
   * age, `shared` to reuse it in all runs of the tenant. @default false
   */
  readonly cache?: boolean | (Duration & { readonly ttl?: Duration; readonly shared?: boolean });
}

/** Options of `ctx.waitForSignal`. */
export interface SignalOptions {
  /** Returns undefined when no signal arrives in this time. @default waits without a limit */
  readonly timeout?: Duration;
}

/** Options of `ctx.call`. */
export interface CallOptions {
  readonly key?: string;
  /** The id of the child run. @default derived from the ids of the parent run and of this operation */
  readonly id?: string;
}

/** Options of `ctx.all` and `ctx.map`. */
export interface BranchOptions {
  /** How many branches run at the same time. @default all */
  readonly concurrency?: number;
  readonly key?: string;
}

/** The outcome of a branch. With `minSuccessful`, a branch whose result was not needed is `abandoned`. */
export type BranchOutcome<T> =
  | { readonly status: 'fulfilled'; readonly value: T }
  | { readonly status: 'rejected'; readonly reason: unknown }
  | { readonly status: 'abandoned' };

type Branch<State, Signals extends SignalSchemas, T> = (ctx: AgentContext<State, Signals>) => T | Promise<T>;
type BranchResults<B> = { -readonly [K in keyof B]: B[K] extends (ctx: never) => infer R ? Awaited<R> : never };
type BranchOutcomes<B> = {
  -readonly [K in keyof B]: B[K] extends (ctx: never) => infer R ? BranchOutcome<Awaited<R>> : never;
};
type Branches<State, Signals extends SignalSchemas> =
  | readonly Branch<State, Signals, unknown>[]
  | { readonly [name: string]: Branch<State, Signals, unknown> };

/** Another agent, or its name. */
export type Callable<Input, Result> =
  | string
  | {
      readonly name: string;
      /** Validates an input with the agent's schema and returns the parsed value; throws SCHEMA_REFUSED otherwise. */
      readonly parseInput: (input: unknown) => Promise<unknown>;
      readonly start: (input: Input) => Promise<{ readonly result: () => Promise<Result> }>;
    };

/** The durable operations of an agent. Every result is recorded before the agent receives it. */
export interface AgentContext<State = unknown, Signals extends SignalSchemas = SignalSchemas> {
  readonly run: string;
  readonly tenant: string;
  readonly agent: string;
  /** The person who requested the run; undefined if it was started without `requestedBy`. */
  readonly requestedBy: Person | undefined;
  /** The state at this point of the agent, frozen: copy what you want to change, or use `update`. */
  readonly state: Frozen<State>;
  /** Runs a function and records its result. A replay returns the recorded result without running it again. */
  step<T>(name: string, work: (step: StepContext) => T | Promise<T>, options?: StepOptions<T>): Promise<T>;
  /** Runs a tool call of a model as a step. Its arguments are recorded too, and results can be cached. */
  tool<A, T>(
    name: string,
    args: A,
    work: (args: A, step: StepContext) => T | Promise<T>,
    options?: ToolOptions<T>,
  ): Promise<T>;
  /** Changes the state and returns the new one. */
  update(edit: (draft: Draft<State>) => State | Draft<State> | void): Promise<Frozen<State>>;
  /** Requests an approval and suspends the run until it is decided. */
  approval<Edits = unknown, F extends Facts = Facts>(
    name: string,
    options: ApprovalOptions<Edits, F> & { readonly facts: F },
  ): Promise<Decision<Edits, F>>;
  approval<Edits = unknown>(name: string, options: ApprovalOptions<Edits>): Promise<Decision<Edits>>;
  /**
   * Asks people a question, and suspends the run until they have answered. The answer is one of `choices`, `text`, or
   * what matches the schema `answer`.
   */
  readonly ask: Ask;
  /** Waits. For more than a few seconds, the run is suspended and uses no compute. */
  sleep(name: string, duration: Duration): Promise<void>;
  /**
   * Waits for the next signal of this name. Each signal is received once, in the order of arrival. Its type comes from
   * the agent's `signals`.
   */
  waitForSignal<Name extends SignalName<Signals>>(
    name: Name,
    options: SignalOptions & { readonly timeout: Duration },
  ): Promise<SignalValue<Signals, Name> | undefined>;
  waitForSignal<Name extends SignalName<Signals>>(
    name: Name,
    options?: SignalOptions,
  ): Promise<SignalValue<Signals, Name>>;
  /** Starts another agent as a child run and waits for its result. */
  call<Input, Result>(agent: Callable<Input, Result>, input: Input, options?: CallOptions): Promise<Result>;
  /** Runs branches concurrently; each must use the context that it is given. */
  all<const B extends Branches<State, Signals>>(
    name: string,
    branches: B,
    options?: BranchOptions & { readonly minSuccessful?: undefined },
  ): Promise<BranchResults<B>>;
  all<const B extends Branches<State, Signals>>(
    name: string,
    branches: B,
    options: BranchOptions & { readonly minSuccessful: number },
  ): Promise<BranchOutcomes<B>>;
  /** Runs a function for each item as concurrent branches. */
  map<I, T>(
    name: string,
    items: readonly I[],
    work: (ctx: AgentContext<State, Signals>, item: I, index: number) => T | Promise<T>,
    options?: BranchOptions & { readonly minSuccessful?: undefined },
  ): Promise<T[]>;
  map<I, T>(
    name: string,
    items: readonly I[],
    work: (ctx: AgentContext<State, Signals>, item: I, index: number) => T | Promise<T>,
    options: BranchOptions & { readonly minSuccessful: number },
  ): Promise<BranchOutcome<T>[]>;
  /** Writes a log line; a replay does not write it again. */
  log(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /**
   * Emits an event of the run, for user interfaces and logs. It is recorded once, with the next checkpoint, and at no
   * extra request.
   */
  emit(event: unknown): void;
  /** Stores bytes by reference, for use in states and results. */
  payload(content: PayloadContent, options?: PayloadOptions): Payload;
  /** The current time; recorded, so that a replay returns the same. */
  now(): Promise<Date>;
  /** A number from 0 to 1; a replay returns the same. */
  random(): number;
  /** A UUID; a replay returns the same. */
  uuid(): string;
  /** Saves a checkpoint that you can find by this name. */
  checkpoint(name: string): Promise<void>;
}

/** The context of a `turn` agent, which can also end the run. */
export interface TurnContext<State = unknown, Signals extends SignalSchemas = SignalSchemas>
  extends AgentContext<State, Signals> {
  /** Ends the run with this result when returned from `turn`. @param state the last state; by default the current one */
  done<Result>(result: Result, state?: State): Done<Result>;
}

/** The return value of `turn` that ends the run. */
export class Done<Result = unknown> {
  readonly result: Result;
  /** The last state; undefined if the state stays as it is. */
  readonly state: unknown;

  constructor(result: Result, state?: unknown) {
    this.result = result;
    this.state = state;
  }
}
