import type { Schema } from '../../checkpoints/engine.ts';
import type { Duration } from '../../core/duration.ts';
import type { AgentContext, Done, StepContext, TurnContext } from './agent-context.ts';
import type { ApprovalNotification } from './approval-notification.ts';
import type { Frozen } from './frozen.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { SignalSchemas } from './signal-schemas.ts';
import type { StandardSchema } from './standard-schema.ts';

/** The fields that `run` agents and `turn` agents share. */
interface AgentBase<Input, State, Result, Signals extends SignalSchemas, RawInput, RawResult = unknown> {
  /** Identifies the agent in runs, deliveries and lists. */
  readonly name: string;
  /** What the agent does, in one sentence. The console and `waitstate dev` show it. */
  readonly description?: string;
  /** An example input. The console and `waitstate dev` suggest it for a new run. */
  readonly example?: NoInfer<RawInput>;
  /** The state of a run: its initial value, schema version and migrations from older versions. @default no state */
  readonly state?: StateSchema<State, Input>;
  /** Validates the input of a run. */
  readonly input?: StandardSchema<RawInput, Input>;
  /** Validates the result of a run. */
  readonly result?: StandardSchema<RawResult, Result>;
  /** Validates signals, by their names. Runs then take only these signals by type. @default signals of any name */
  readonly signals?: Signals;
  /** How long a run may take in total. @default no limit */
  readonly timeout?: Duration;
  /** The retry policy of steps that have none. @default three attempts */
  readonly retry?: RetryPolicy;
  /** Functions that undo steps, by step name. For `turn` agents: a function in a turn does not outlive the turn. */
  readonly undo?: Readonly<Record<string, (result: never, step: StepContext) => unknown>>;
  /** How many times in a row a run may be claimed without a new checkpoint before it fails. @default 5 */
  readonly maxClaimsWithoutProgress?: number;
  /** Lets steps add their own writes to the transaction that records them. DynamoDB only. @default false */
  readonly transact?: boolean;
  /** Notifies approvers of a request; called again until it resolves. */
  readonly notify?: (notification: ApprovalNotification) => unknown;
  /**
   * Lists the members of a group of approvers: each gets their own approval link, and nobody else can vote for the group
   * without a login that says so. Called when approvers are notified.
   */
  readonly members?: (group: string) => readonly string[] | Promise<readonly string[]>;
}

interface StateSchema<State, Input> extends Partial<Schema> {
  initial(input: Input): State;
}

/** An agent that resumes by replay: `run` is called from the top, and completed operations return recorded results. */
export interface RunAgent<Input, State, Result, Signals extends SignalSchemas = SignalSchemas, RawInput = Input>
  extends AgentBase<Input, State, Result, Signals, RawInput> {
  run(ctx: AgentContext<State, Signals>, input: Input): Promise<Result> | Result;
  readonly turn?: undefined;
}

/**
 * An agent that resumes from its state: `turn` is called until it returns `ctx.done`, and completed turns do not
 * replay.
 */
export interface TurnAgent<
  Input,
  State,
  Result,
  Signals extends SignalSchemas = SignalSchemas,
  RawInput = Input,
  Returned = State | Done<Result> | void,
  RawResult = unknown,
> extends AgentBase<Input, State, Result, Signals, RawInput, RawResult> {
  /** Returns the next state, nothing if the state stays as it is, or `ctx.done`. */
  turn(ctx: TurnContext<State, Signals>, state: Frozen<State>, input: Input): Promise<Returned> | Returned;
  readonly run?: undefined;
}

/** The results of `ctx.done` among what `turn` returns. */
export type DoneResult<Returned> = Returned extends Done<infer Result> ? Result : never;

/** The definition of an agent: with `run` or with `turn`. */
export type AgentDefinition<
  Input = unknown,
  State = unknown,
  Result = unknown,
  Signals extends SignalSchemas = SignalSchemas,
> = RunAgent<Input, State, Result, Signals> | TurnAgent<Input, State, Result, Signals>;
