import type { InvokeResult } from '../../../lambda/runtime/agent/agent.ts';
import type { ApprovalNotification } from '../../../lambda/runtime/definition/approval-notification.ts';
import type { Delivery } from '../../../lambda/runtime/runtime.ts';
import type { LoadProblem } from '../agents/load-problem.ts';

/** An agent in a file. */
export interface DescribedAgent {
  readonly name: string;
  readonly description?: string;
  /** Its example input, as a document. */
  readonly example?: unknown;
  /** Why its example cannot be used. */
  readonly exampleProblem?: string;
  /** Whether it has a `notify` hook. */
  readonly hasNotifyHook: boolean;
  /** The tenant of runs that it starts itself. */
  readonly tenant: string;
  /** Whether it encrypts runs that it starts itself. */
  readonly encryptsRuns: boolean;
}

/** The agents in a file, or the reason why it does not load. */
export interface DescribedFile {
  readonly file: string;
  readonly agents: readonly DescribedAgent[];
  /** The files that it imports, itself included. */
  readonly imports: readonly string[];
  readonly problem?: LoadProblem;
}

/** The result of an invocation, in a form that can be sent to another process. */
export type InvocationReport =
  | Exclude<InvokeResult, { readonly end: 'failed' }>
  | { readonly end: 'failed'; readonly error: string }
  /** The approvers were notified. */
  | { readonly end: 'notified' };

/** A message from an agent process to the server. Its `waitstate` field tells it from messages of the agent's own code. */
export type ProcessMessage =
  /** The heartbeat, sent every second. */
  | { readonly waitstate: 'alive' }
  /** The process is about to load this file. */
  | { readonly waitstate: 'loading'; readonly file: string }
  | { readonly waitstate: 'described'; readonly described: DescribedFile }
  /** The agent file does not load. */
  | { readonly waitstate: 'loadFailed'; readonly problem: LoadProblem }
  /** Another run is ready, such as a child run. */
  | { readonly waitstate: 'deliver'; readonly delivery: Delivery }
  /** A step failed and is retried in the same process. */
  | { readonly waitstate: 'stepRetried'; readonly step: string }
  | { readonly waitstate: 'notification'; readonly notification: ApprovalNotification }
  | { readonly waitstate: 'ended'; readonly ended: InvocationReport; readonly steps: number };
