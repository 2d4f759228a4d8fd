import type { VoteAnswer } from '../../../lambda/core/approval.ts';
import type { Delivery } from '../../../lambda/runtime/runtime.ts';

/** What a process is told to do. */
export type Command = {
  readonly agent: string;
  readonly run: string;
  /** The time that it is. */
  readonly now: number;
  /** Whether it stops at each moment until it may go on. @default false */
  readonly held?: boolean;
} & (
  | { readonly do: 'start'; readonly input: unknown }
  | { readonly do: 'invoke'; readonly by: string; readonly seconds: number }
  | { readonly do: 'decide'; readonly approval: string; readonly by: string; readonly answer: VoteAnswer }
  | { readonly do: 'signal'; readonly name: string; readonly value: unknown; readonly id: string }
  | { readonly do: 'sweep' }
);

/** How a command went, and whom it would have brought to a process. */
export type Answered = { readonly delivered: readonly Delivery[] } & (
  | { readonly value: unknown }
  | { readonly error: string }
);

/** What a process says: where it is, or how a command went. */
export type Line = { readonly moment: string } | Answered;
