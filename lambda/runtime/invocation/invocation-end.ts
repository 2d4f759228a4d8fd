import type { Status } from '../../core/status.ts';

/** How an invocation of an agent ended. */
export type InvocationEnd =
  /** The run has ended; `parent` waited for it. */
  | { readonly end: 'finished'; readonly status: Status; readonly parent?: string }
  /** The run waits, or continues in another invocation at once. */
  | { readonly end: 'suspended'; readonly status: Status; readonly continues?: true }
  /** Another invocation holds the run. */
  | { readonly end: 'fenced' }
  | { readonly end: 'failed'; readonly error: unknown };
