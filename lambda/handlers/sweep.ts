import { DUE_SHARDS, SHARDS } from '../checkpoints/format/records.ts';
import { isWaitstateError } from '../core/errors.ts';
import { refused } from '../core/invalid-input.ts';
import { type Clock, systemClock } from '../runtime/agent/clock.ts';
import { type SweepReport, sweepDue } from '../runtime/control/sweep.ts';
import { errorFields, type Observing } from '../runtime/telemetry.ts';
import { s3SignedUrls } from '../storage/s3/signed-urls.ts';
import { lambdaFunctions } from './agent-functions.ts';
import { type Delivering, deliverRun } from './deliver.ts';
import { contextsOf, wired } from './lazy-handler.ts';
import { type TellingOptions, tellingOf } from './notifier.ts';
import { observingOf } from './powertools.ts';
import { announcing } from './publish-events.ts';
import { UNREADABLE } from './stream-records.ts';

export interface SweepOptions extends Delivering, TellingOptions {
  readonly clock?: Clock;
}

/** What a sweep did, without the errors themselves. */
export type SweepAnswer = Omit<SweepReport, 'failed'> & { readonly failed: number };

/**
 * The function on a schedule that looks at everything that is due: it delivers, tells, expires and removes. An event with
 * `shards` has it look through just these, where several sweep side by side.
 */
export const createSweep =
  ({ clock = systemClock, ...options }: SweepOptions) =>
  (event: unknown): Promise<SweepAnswer> =>
    options.observing.invocation(async () => {
      const { contexts, observing } = options;
      const { failed, ...counts } = await sweepDue({
        runtime: {
          ...{ contexts, clock, chance: Math.random },
          // What an error says may be about anybody; whoever failed has logged what may be.
          log: (level, message, { error: _error, ...fields }) => observing.log(level, message, fields),
          deliver: (delivery) => deliverRun(options, delivery),
        },
        telling: (agent, tenant) => tellingOf(options, tenant, agent),
        ...shardsIn(event),
      });
      logFailed(failed, observing);
      const answer = { ...counts, failed: failed.length };
      // A metric is paid for when it is written: nothing is written of what did not happen.
      for (const [what, value] of Object.entries(answer))
        if (value > 0) observing.count(METRICS[what as keyof SweepAnswer], value);
      return answer;
    });

/**
 * Says which runs could not be swept. What nobody can read stays due until somebody removes it: all of that is one line
 * of a sweep, however much of it there is.
 */
function logFailed(failed: SweepReport['failed'], { log }: Observing): void {
  const isUnreadable = ({ error }: SweepReport['failed'][number]): boolean => isWaitstateError(error, ...UNREADABLE);
  for (const { tenant, run, error } of failed.filter((each) => !isUnreadable(each)))
    log('error', 'A run could not be swept; the next sweep tries again.', { tenant, run, ...errorFields(error) });
  const unreadable = failed.filter(isUnreadable);
  if (unreadable.length === 0) return;
  const first = unreadable.slice(0, 5).map(({ tenant, run, error }) => ({ tenant, run, ...errorFields(error) }));
  log('error', 'Records that are due cannot be read; they stay due until they are mended or removed.', {
    count: unreadable.length,
    first,
  });
}

/** Which shards an event names; that of a schedule names none. */
function shardsIn(event: unknown): { readonly shards?: readonly number[] } {
  const { shards } = Object(event) as { shards?: unknown };
  if (shards === undefined) return {};
  const isShard = (shard: unknown): shard is number => SHARDS.some((each) => each === shard);
  if (!Array.isArray(shards) || !shards.every(isShard))
    throw refused('`shards` of the event of a sweep', `a list of numbers from 0 to ${DUE_SHARDS - 1}`, shards);
  return { shards: [...new Set(shards)] };
}

const METRICS = {
  delivered: 'SweepDelivered',
  redelivered: 'SweepRedelivered',
  timedOut: 'SweepTimedOut',
  approvals: 'SweepApprovals',
  expired: 'SweepExpired',
  freed: 'SweepFreed',
  removed: 'SweepRemoved',
  failed: 'SweepFailed',
} as const satisfies Record<keyof SweepAnswer, string>;

export const handler = wired('sweep', (environment) =>
  createSweep({
    contexts: contextsOf(environment),
    agents: environment.agents,
    functions: lambdaFunctions(),
    signedUrls: s3SignedUrls(environment),
    announce: announcing(environment),
    approvalUrl: environment.approvalUrl,
    observing: observingOf('sweep', environment),
  }),
);
