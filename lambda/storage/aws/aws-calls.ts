import { setTimeout } from 'node:timers/promises';
import { WaitstateError } from '../../core/errors.ts';
import { isTransient } from './classify-aws-error.ts';

export interface AwsRetryOptions {
  /** How often a call is tried before it counts as failed. @default 8 */
  readonly maxAttempts?: number;
  /** What waits between tries. @default a timer */
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
}

interface AwsCallInfo {
  readonly resource: string;
  readonly actions: readonly string[];
}

/** Runs until it succeeds, fails for good or has no tries left, and throws the errors of the ports. */
export type AwsCall<C> = <T>(target: AwsCallInfo, run: (client: C, isRetry: boolean) => Promise<T>) => Promise<T>;

/** Calls of a client that is made on first use. */
export function createAwsCall<C extends { readonly config: unknown }>(
  createClient: () => C,
  { maxAttempts = 8, sleep = setTimeout }: AwsRetryOptions,
): AwsCall<C> {
  let client: C | undefined;
  return async ({ resource, actions }, run) => {
    client ??= createClient();
    for (let attempt = 1; ; attempt++) {
      try {
        return await run(client, attempt > 1);
      } catch (error) {
        if (attempt >= maxAttempts || error instanceof WaitstateError || !isTransient(error)) {
          // Loaded only when something has failed for good.
          const { storageError } = await import('./to-storage-error.ts');
          throw await storageError(error, { resource, actions }, client.config);
        }
        await sleep(Math.random() * Math.min(5_000, 50 * 2 ** attempt));
      }
    }
  };
}
