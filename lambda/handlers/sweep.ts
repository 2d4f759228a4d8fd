import { isWaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { type SweepReport, sweepDue } from '../runtime/control/sweep.ts';
import { errorFields, type Telemetry } from '../runtime/telemetry.ts';
import { DUE_SHARD_COUNT, SHARDS } from '../storage/keys.ts';
import { s3SignedUrls } from '../storage/s3/signed-urls.ts';
import { lambdaFunctions } from './agent-functions.ts';
import { type DeliveryOptions, deliverRun } from './deliver.ts';
import { contextFactoryFrom, lazyHandler } from './lazy-handler.ts';
import { type NotifierOptions, notifierFor } from './notifier.ts';
import { powertoolsTelemetry } from './powertools.ts';
import { publishEvents } from './publish-events.ts';
import { UNREADABLE_CODES } from './stream-records.ts';

export interface SweepHandlerOptions extends DeliveryOptions, NotifierOptions {
  readonly clock?: Clock;
}

/** What a sweep did, without the errors themselves. */
export type SweepResponse = Omit<SweepReport, 'failed'> & { readonly failed: number };

/**
 * The function on a schedule that looks at everything that is due: it delivers, tells, expires and removes. An event with
 * `shards` has it look through just these, where several sweep side by side.
 */
export const createSweepHandler =
  ({ clock = systemClock, ...options }: SweepHandlerOptions) =>
  (event: unknown): Promise<SweepResponse> =>
    options.telemetry.traceInvocation(async () => {
      const { contexts, telemetry } = options;
      const { failed, ...counts } = await sweepDue({
        runtime: {
          ...{ contexts, clock, random: Math.random },
          // What an error says may be about anybody; whoever failed has logged what may be.
          log: (level, message, { error: _error, ...fields }) => telemetry.log(level, message, fields),
          deliver: (delivery) => deliverRun(options, delivery),
        },
        notifierFor: (agent, tenant) => notifierFor(options, tenant, agent),
        ...shardsIn(event),
      });
      logFailed(failed, telemetry);
      const answer = { ...counts, failed: failed.length };
      // A metric is paid for when it is written: nothing is written of what did not happen.
      for (const [what, value] of Object.entries(answer))
        if (value > 0) telemetry.count(METRICS[what as keyof SweepResponse], value);
      return answer;
    });

/**
 * Says which runs could not be swept. What nobody can read stays due until somebody removes it: all of that is one line
 * of a sweep, however much of it there is.
 */
function logFailed(failed: SweepReport['failed'], { log }: Telemetry): void {
  const isUnreadable = ({ error }: SweepReport['failed'][number]): boolean =>
    isWaitstateError(error, ...UNREADABLE_CODES);
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
    throw invalidInput(
      '`shards` of the event of a sweep',
      `a list of numbers from 0 to ${DUE_SHARD_COUNT - 1}`,
      shards,
    );
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
} as const satisfies Record<keyof SweepResponse, string>;

export const handler = lazyHandler('sweep', (environment) =>
  createSweepHandler({
    contexts: contextFactoryFrom(environment),
    agents: environment.agents,
    functions: lambdaFunctions(),
    signedUrls: s3SignedUrls(environment),
    publish: publishEvents(environment),
    approvalUrl: environment.approvalUrl,
    telemetry: powertoolsTelemetry('sweep', environment),
  }),
);
