import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { formatDuration } from '../../terminal/times.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** How far the clock of this machine is from that of AWS, once there was an answer. */
export interface ClockSkew {
  aheadMs: number | undefined;
}

/** Reads the time from each answer of a client, also from those that refuse. */
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
    // Closest to the wire, before anybody makes an error of the answer.
    { step: 'deserialize', priority: 'low', name: 'waitstateClock' },
  );
  return skew;
}

const WARN_SKEW_MS = 30_000;
// Signatures are refused from here on.
const MAX_SKEW_MS = 5 * 60_000;

/** What the difference means. */
export function clockFinding({ aheadMs }: ClockSkew): Finding {
  if (aheadMs === undefined)
    return warn(
      'clock',
      'AWS did not say what time it is',
      'Nothing, if the clock of this machine is set by the network.',
    );
  const text = `${formatDuration(Math.abs(aheadMs))} ${aheadMs < 0 ? 'behind' : 'ahead of'} AWS`;
  const advice =
    'Have the clock of this machine set by the network (NTP): signatures, leases and deadlines depend on it.';
  if (Math.abs(aheadMs) >= MAX_SKEW_MS) return fail('clock', text, advice);
  return Math.abs(aheadMs) >= WARN_SKEW_MS ? warn('clock', text, advice) : ok('clock', 'as that of AWS');
}
