import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { formatDuration } from '../../terminal/times.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** How far the clock of this machine is from that of AWS, once there was an answer. */
export interface ClockSkew {
  aheadMs: number | undefined;
}

/** Reads the time from each answer of a client, also from those that refuse. */
export function measureClockSkew(stack: DynamoDBClient['middlewareStack'], now: () => number): ClockSkew {
  const watch: ClockSkew = { aheadMs: undefined };
  stack.add(
    (next) => async (args) => {
      const answer = await next(args);
      const { headers } = Object(answer.response) as { headers?: Readonly<Record<string, string>> };
      const date = Date.parse(headers?.date ?? '');
      if (!Number.isNaN(date)) watch.aheadMs = now() - date;
      return answer;
    },
    // Closest to the wire, before anybody makes an error of the answer.
    { step: 'deserialize', priority: 'low', name: 'waitstateClock' },
  );
  return watch;
}

const LITTLE_MS = 30_000;
// Signatures are refused from here on.
const MUCH_MS = 5 * 60_000;

/** What the difference means. */
export function clockFinding({ aheadMs }: ClockSkew): Finding {
  if (aheadMs === undefined)
    return warn(
      'clock',
      'AWS did not say what time it is',
      'Nothing, if the clock of this machine is set by the network.',
    );
  const text = `${formatDuration(Math.abs(aheadMs))} ${aheadMs < 0 ? 'behind' : 'ahead of'} AWS`;
  const mend =
    'Have the clock of this machine set by the network (NTP): signatures, leases and deadlines depend on it.';
  if (Math.abs(aheadMs) >= MUCH_MS) return fail('clock', text, mend);
  return Math.abs(aheadMs) >= LITTLE_MS ? warn('clock', text, mend) : ok('clock', 'as that of AWS');
}
