import { setTimeout } from 'node:timers/promises';
import { WaitstateError } from '../../core/errors.ts';
import { isTransient } from './classify-aws-error.ts';

export interface AwsRetryOptions {
  /** The maximum number of attempts for a call. @default 8 */
  readonly maxAttempts?: number;
  /** Waits between attempts. @default a timer */
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
}

interface AwsCallInfo {
  readonly resource: string;
  readonly actions: readonly string[];
}

/** Retries a call until it succeeds, fails permanently or has no attempts left; throws the errors of the ports. */
export type AwsCall<C> = <T>(target: AwsCallInfo, run: (client: C, isRetry: boolean) => Promise<T>) => Promise<T>;

/** Calls with a client that is created on first use. */
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
          // Loaded only on a permanent failure.
          const { storageError } = await import('./to-storage-error.ts');
          throw await storageError(error, { resource, actions }, client.config);
        }
        await sleep(Math.random() * Math.min(5_000, 50 * 2 ** attempt));
      }
    }
  };
}
