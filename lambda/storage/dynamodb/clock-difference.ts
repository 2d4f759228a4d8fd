import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { DynamoClient } from './dynamo-client.ts';

/** How far the clock of this process is ahead of the clock of the storage, as responses show. */
export interface ClockDifference {
  /** Takes the local times of a request and of its response, and the date that the response carries; NaN without one. */
  observe(sentAt: number, receivedAt: number, date: number): void;
  /** The difference in milliseconds: 0 within the error of the measurement, undefined before the first response. */
  aheadMs(): number | undefined;
}

// A date has no milliseconds, and a server may reuse it for another second.
const DATE_ERROR_MS = 2_000;
// A clock that is synchronized is more exact than the date, so it is left alone.
const SYNCHRONIZED_MS = 1_000;

/**
 * Measures a difference. Each response limits it to a range that is as wide as the request was slow, and the ranges of
 * several responses are intersected. So a slow response tells little, and does no harm. The result changes only when a
 * range excludes it, because a process whose time jumps could reorder what it writes.
 */
export function clockDifference(): ClockDifference {
  let least = -Infinity;
  let most = Infinity;
  let aheadMs: number | undefined;
  return {
    observe(sentAt, receivedAt, date) {
      const from = sentAt - date - DATE_ERROR_MS - SYNCHRONIZED_MS;
      const to = receivedAt - date + SYNCHRONIZED_MS;
      // The range is empty if the clock was set back during the request.
      if (from <= to) {
        // Two ranges without a common value: a clock was set in the meantime, and only the newer range is true.
        const wasSet = from > most || to < least;
        least = wasSet ? from : Math.max(least, from);
        most = wasSet ? to : Math.min(most, to);
      }
      aheadMs ??= 0;
      if (aheadMs < least || aheadMs > most) aheadMs = Math.round((least + most) / 2);
    },
    aheadMs: () => aheadMs,
  };
}

/** The same client, and a difference that every response to it updates, including errors. */
export function withClockDifference(
  client: DynamoClient,
  difference: ClockDifference,
  clock: () => number,
): DynamoClient {
  const send = (command: { readonly middlewareStack: MiddlewareStack }) => {
    observeDates(command.middlewareStack, difference, clock);
    return client.send(command as never);
  };
  return { config: client.config, send } as DynamoClient;
}

type MiddlewareStack = Pick<DynamoDBClient['middlewareStack'], 'add'>;

/** Updates a difference with the date of each response, including errors. */
export function observeDates(
  stack: MiddlewareStack,
  difference: Pick<ClockDifference, 'observe'>,
  clock: () => number,
): void {
  stack.add(
    (next) => async (args) => {
      const sentAt = clock();
      const result = await next(args);
      const { headers } = Object(result.response) as { headers?: Readonly<Record<string, string>> };
      difference.observe(sentAt, clock(), Date.parse(String(headers?.date)));
      return result;
    },
    // After each retry has begun, and before the response is turned into an error.
    { step: 'deserialize', priority: 'low' },
  );
}
