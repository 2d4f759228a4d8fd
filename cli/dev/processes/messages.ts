import type { InvokeResult } from '../../../lambda/runtime/agent/agent.ts';
import type { ApprovalNotification } from '../../../lambda/runtime/definition/approval-notification.ts';
import type { Delivery } from '../../../lambda/runtime/runtime.ts';
import type { LoadProblem } from '../agents/load-problem.ts';

/** An agent as its file describes it. */
export interface DescribedAgent {
  readonly name: string;
  /** Whether it tells people by itself. */
  readonly hasNotifyHook: boolean;
  /** The tenant that it starts runs in by itself. */
  readonly tenant: string;
  /** Whether it encrypts runs that it starts itself. */
  readonly encryptsRuns: boolean;
}

/** What a file has, or why it has nothing. */
export interface DescribedFile {
  readonly file: string;
  readonly agents: readonly DescribedAgent[];
  readonly example?: unknown;
  readonly description?: string;
  /** The files that it stands on, itself included. */
  readonly imports: readonly string[];
  readonly problem?: LoadProblem;
}

/** How an invocation went, for another process. */
export type InvocationReport =
  | Exclude<InvokeResult, { readonly end: 'failed' }>
  | { readonly end: 'failed'; readonly error: string }
  /** People were told of an approval. */
  | { readonly end: 'told' };

/** What a process of agents tells the server. */
export type ProcessMessage =
  /** It is not stuck; said every second. */
  | { readonly tell: 'alive' }
  /** It is about to load this file. */
  | { readonly tell: 'loading'; readonly file: string }
  | { readonly tell: 'described'; readonly described: DescribedFile }
  /** Its file does not load. */
  | { readonly tell: 'unloadable'; readonly problem: LoadProblem }
  /** Another run is ready, such as a child of this one. */
  | { readonly tell: 'deliver'; readonly delivery: Delivery }
  /** A step failed, and is tried again in the same process. */
  | { readonly tell: 'again'; readonly step: string }
  | { readonly tell: 'notice'; readonly notice: ApprovalNotification }
  | { readonly tell: 'ended'; readonly ended: InvocationReport; readonly steps: number };
