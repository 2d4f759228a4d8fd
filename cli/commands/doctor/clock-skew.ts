import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { observeDates } from '../../../lambda/storage/dynamodb/clock-difference.ts';
import { formatDuration } from '../../terminal/times.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** The difference between the clocks of this machine and of AWS; undefined until there was a response. */
export interface ClockSkew {
  aheadMs: number | undefined;
}

/** Reads the time from every response to a client, including errors. */
export function measureClockSkew(stack: DynamoDBClient['middlewareStack'], now: () => number): ClockSkew {
  const skew: ClockSkew = { aheadMs: undefined };
  const observe = (_sentAt: number, receivedAt: number, date: number) => {
    if (!Number.isNaN(date)) skew.aheadMs = receivedAt - date;
  };
  observeDates(stack, { observe }, now);
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
  const advice =
    'Synchronize the clock of this machine (NTP): AWS rejects signatures that are 5 minutes off, and a process that is 15 minutes off claims no run.';
  if (Math.abs(aheadMs) >= MAX_SKEW_MS) return fail('clock', text, advice);
  return Math.abs(aheadMs) >= WARN_SKEW_MS ? warn('clock', text, advice) : ok('clock', 'in sync with AWS');
}
