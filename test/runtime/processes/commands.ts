import type { Person, VoteAnswer } from '../../../lambda/core/approval.ts';
import type { Delivery } from '../../../lambda/runtime/runtime.ts';

/** A command for a process. */
export type Command = {
  readonly agent: string;
  readonly run: string;
  /** The time of its clock. */
  readonly now: number;
  /** Whether it pauses at each moment until it is resumed. @default false */
  readonly held?: boolean;
} & (
  | { readonly do: 'start'; readonly input: unknown }
  | { readonly do: 'invoke'; readonly by: string; readonly seconds: number }
  | { readonly do: 'decide'; readonly approval: string; readonly by: Person; readonly answer: VoteAnswer }
  | { readonly do: 'signal'; readonly name: string; readonly value: unknown; readonly id: string }
  | { readonly do: 'sweep' }
);

/** The reply to a command, and the runs that it delivered. */
export type CommandOutcome = { readonly delivered: readonly Delivery[] } & (
  | { readonly value: unknown }
  | { readonly error: string }
);

/** A line from a process: the moment that it has reached, or the reply to a command. */
export type Line = { readonly moment: string } | CommandOutcome;
