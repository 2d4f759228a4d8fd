import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { formatDuration } from '../../terminal/times.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** The difference between the clocks of this machine and of AWS; undefined until there was a response. */
export interface ClockSkew {
  aheadMs: number | undefined;
}

/** Reads the time from every response to a client, including errors. */
export function measureClockSkew(stack: DynamoDBClient['middlewareStack'], now: () => number): ClockSkew {
  const skew: ClockSkew = { aheadMs: undefined };
  stack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { headers } = Object(result.response) as { headers?: Readonly<Record<string, string>> };
      const date = Date.parse(headers?.date ?? '');
      if (!Number.isNaN(date)) skew.aheadMs = now() - date;
      return result;
    },
    // Before the response is turned into an error.
    { step: 'deserialize', priority: 'low', name: 'waitstateClock' },
  );
  return skew;
}

const WARN_SKEW_MS = 30_000;
// AWS rejects signatures from this difference on.
const MAX_SKEW_MS = 5 * 60_000;

/** Rates the clock difference. */
export function clockFinding({ aheadMs }: ClockSkew): Finding {
  if (aheadMs === undefined)
    return warn(
      'clock',
      'the responses of AWS contain no time',
      'Make sure that the clock of this machine is synchronized (NTP).',
    );
  const text = `${formatDuration(Math.abs(aheadMs))} ${aheadMs < 0 ? 'behind' : 'ahead of'} AWS`;
  const advice = 'Synchronize the clock of this machine (NTP): signatures, leases and deadlines depend on it.';
  if (Math.abs(aheadMs) >= MAX_SKEW_MS) return fail('clock', text, advice);
  return Math.abs(aheadMs) >= WARN_SKEW_MS ? warn('clock', text, advice) : ok('clock', 'in sync with AWS');
}
