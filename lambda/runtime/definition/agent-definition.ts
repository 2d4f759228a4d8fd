import type { Schema } from '../../checkpoints/engine.ts';
import type { Duration } from '../../core/duration.ts';
import type { AgentContext, Done, StepContext, TurnContext } from './agent-context.ts';
import type { ApprovalNotification } from './approval-notification.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { StandardSchema } from './standard-schema.ts';

/** What an agent is, but for what it does. */
interface AgentBase<Input, State, Result> {
  /** What it is known by in runs, deliveries and lists. */
  readonly name: string;
  /** The state that runs carry: its first value, and its shape over time. @default no state */
  readonly state?: Schema_<State, Input>;
  /** Schemas of what goes in and out. */
  readonly input?: StandardSchema<unknown, Input>;
  readonly result?: StandardSchema<unknown, Result>;
  readonly signals?: Readonly<Record<string, StandardSchema>>;
  /** How long a run may take altogether. @default for ever */
  readonly timeout?: Duration;
  /** For steps that say nothing else. @default three attempts */
  readonly retry?: RetryPolicy;
  /** What takes steps back, by their names; for turns, whose own closures do not live as long as the run. */
  readonly undo?: Readonly<Record<string, (result: never, tools: StepContext) => unknown>>;
  /** How often a run is claimed without any progress before it fails. @default 5 */
  readonly maxAttempts?: number;
  /** That steps may add writes of their own to the transaction that records them. DynamoDB only. @default false */
  readonly transact?: boolean;
  /** Tells people that they are asked; called again until it resolves. */
  readonly notify?: (notice: ApprovalNotification) => unknown;
  /** The members of a group of approvers; each gets a link of their own. */
  readonly members?: (group: string) => readonly string[] | Promise<readonly string[]>;
}

interface Schema_<State, Input> extends Partial<Schema> {
  initial(input: Input): State;
}

/** An agent that is run from the top; what it did before is replayed from its journal. */
export interface RunAgent<Input, State, Result> extends AgentBase<Input, State, Result> {
  run(ctx: AgentContext<State>, input: Input): Promise<Result> | Result;
  readonly turn?: undefined;
}

/** An agent that is called again and again with its state, until it is done; nothing is replayed. */
export interface TurnAgent<Input, State, Result> extends AgentBase<Input, State, Result> {
  turn(
    ctx: TurnContext<State>,
    state: State,
    input: Input,
  ): Promise<State | Done<Result> | void> | State | Done<Result> | void;
  readonly run?: undefined;
}

export type AgentDefinition<Input = unknown, State = unknown, Result = unknown> =
  | RunAgent<Input, State, Result>
  | TurnAgent<Input, State, Result>;
