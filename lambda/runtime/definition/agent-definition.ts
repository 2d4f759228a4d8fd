import type { Schema } from '../../checkpoints/engine.ts';
import type { Duration } from '../../core/duration.ts';
import type { AgentContext, Done, StepContext, TurnContext } from './agent-context.ts';
import type { ApprovalNotification } from './approval-notification.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { StandardSchema } from './standard-schema.ts';

/** The fields that `run` agents and `turn` agents share. */
interface AgentBase<Input, State, Result> {
  /** Identifies the agent in runs, deliveries and lists. */
  readonly name: string;
  /** The state of a run: its initial value, schema version and migrations from older versions. @default no state */
  readonly state?: StateSchema<State, Input>;
  /** Validates the input of a run. */
  readonly input?: StandardSchema<unknown, Input>;
  /** Validates the result of a run. */
  readonly result?: StandardSchema<unknown, Result>;
  /** Validates signals, by their names. */
  readonly signals?: Readonly<Record<string, StandardSchema>>;
  /** How long a run may take in total. @default no limit */
  readonly timeout?: Duration;
  /** The retry policy of steps that have none. @default three attempts */
  readonly retry?: RetryPolicy;
  /** Functions that undo steps, by step name. For `turn` agents: a function in a turn does not outlive the turn. */
  readonly undo?: Readonly<Record<string, (result: never, step: StepContext) => unknown>>;
  /** How many times a run is claimed without progress before it fails. @default 5 */
  readonly maxAttempts?: number;
  /** Lets steps add their own writes to the transaction that records them. DynamoDB only. @default false */
  readonly transact?: boolean;
  /** Notifies approvers of a request; called again until it resolves. */
  readonly notify?: (notification: ApprovalNotification) => unknown;
  /** Lists the members of a group of approvers, so that each of them gets their own approval link. */
  readonly members?: (group: string) => readonly string[] | Promise<readonly string[]>;
}

interface StateSchema<State, Input> extends Partial<Schema> {
  initial(input: Input): State;
}

/** An agent that resumes by replay: `run` is called from the top, and completed operations return recorded results. */
export interface RunAgent<Input, State, Result> extends AgentBase<Input, State, Result> {
  run(ctx: AgentContext<State>, input: Input): Promise<Result> | Result;
  readonly turn?: undefined;
}

/**
 * An agent that resumes from its state: `turn` is called until it returns `ctx.done`, and completed turns do not
 * replay.
 */
export interface TurnAgent<Input, State, Result> extends AgentBase<Input, State, Result> {
  turn(
    ctx: TurnContext<State>,
    state: State,
    input: Input,
  ): Promise<State | Done<Result> | void> | State | Done<Result> | void;
  readonly run?: undefined;
}

/** The definition of an agent: with `run` or with `turn`. */
export type AgentDefinition<Input = unknown, State = unknown, Result = unknown> =
  | RunAgent<Input, State, Result>
  | TurnAgent<Input, State, Result>;
