import { type CollectResult, withTenant } from '../../checkpoints/engine.ts';
import { isWaitstateError } from '../../core/errors.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { type SweepReport, sweepDue } from '../../runtime/control/sweep.ts';
import { errorFields, type Telemetry } from '../../runtime/telemetry.ts';
import { DUE_SHARD_COUNT, SHARDS } from '../../storage/keys.ts';
import { hasWorkers } from '../agents.ts';
import { type DeliveryOptions, deliverRun } from '../deliver.ts';
import { type NotifierOptions, notifierFor } from '../notifier.ts';
import { reportClockDifference } from '../report-clock-difference.ts';
import { UNREADABLE_CODES } from '../stream-records.ts';

export interface SweepHandlerOptions extends DeliveryOptions, NotifierOptions {
  /** The only tenants of the deployment. @default any */
  readonly tenants?: readonly string[] | undefined;
  readonly clock?: Clock;
}

/** The counts of a sweep, without the errors themselves. */
export type SweepResponse = Omit<SweepReport, 'failed'> & { readonly failed: number };

/** What a collection removed, without the errors themselves. */
export type CollectResponse = Omit<CollectResult, 'failed'> & { readonly failed: number };

/**
 * Creates the scheduled handler that processes everything that is due: it delivers runs, sends notifications, and
 * expires and deletes records. An event with `shards` limits it to these, so that several sweepers can run in parallel.
 * An event with `collect` removes payloads that nothing refers to instead.
 */
export const createSweepHandler =
  ({ clock = systemClock, ...options }: SweepHandlerOptions) =>
  (event: unknown): Promise<SweepResponse | CollectResponse> =>
    options.telemetry.runInvocation(async () => {
      const { contexts, telemetry } = options;
      if (isCollection(event)) return collectPayloads({ ...options, clock });
      const { failed, ...counts } = await sweepDue({
        runtime: {
          contexts,
          clock,
          random: Math.random,
          // An error may contain personal data. The code that failed has logged the safe part of it.
          log: (level, message, { error: _error, ...fields }) => telemetry.log(level, message, fields),
          deliver: (delivery) => deliverRun(options, delivery),
        },
        hasWorkers: ({ tenant, agent }) => hasWorkers(options.agents, tenant, agent),
        notifierFor: (agent, tenant) => notifierFor(options, tenant, agent),
        ...readShards(event),
      });
      logFailures(failed, telemetry);
      await reportClockDifference(options);
      const response = { ...counts, failed: failed.length };
      // CloudWatch charges for each metric that is written, so zeros are not.
      for (const [name, value] of Object.entries(response))
        if (value > 0) telemetry.count(METRICS[name as keyof SweepResponse], value);
      return response;
    });

const isCollection = (event: unknown): boolean => (Object(event) as { collect?: unknown }).collect === true;

/** How long a collection takes at most; the next invocation continues it. Its function has a timeout of five minutes. */
const MAX_COLLECTION_MS = 3 * 60_000;

/** Continues the daily collection of payloads, of each tenant if the deployment lists its tenants. */
async function collectPayloads(options: SweepHandlerOptions & { readonly clock: Clock }): Promise<CollectResponse> {
  const { contexts, tenants, telemetry, clock } = options;
  const { continueCollection } = await import('../../checkpoints/operations/operations.ts');
  const until = clock.now() + MAX_COLLECTION_MS;
  const isOver = (): boolean => clock.now() >= until;
  const total = { payloadsRemoved: 0, bytesRemoved: 0, failed: 0 };
  for (const tenant of tenants ?? [undefined]) {
    const context = await (tenant === undefined ? contexts : withTenant(contexts, tenant)).forTenant();
    const result = await continueCollection(context, { everyTenant: tenant === undefined, isOver });
    for (const { tenant, run, error } of result?.failed ?? [])
      telemetry.log('warn', 'The payloads of a run could not be collected.', { tenant, run, ...errorFields(error) });
    total.payloadsRemoved += result?.payloadsRemoved ?? 0;
    total.bytesRemoved += result?.bytesRemoved ?? 0;
    total.failed += result?.failed.length ?? 0;
    if (isOver()) break;
  }
  if (total.payloadsRemoved > 0) telemetry.count('PayloadsCollected', total.payloadsRemoved);
  if (total.failed > 0) telemetry.count('CollectionFailed', total.failed);
  return total;
}

/**
 * Logs the runs that could not be swept. Unreadable records stay due until they are repaired or removed, so all of them
 * share one log line per sweep.
 */
function logFailures(failed: SweepReport['failed'], { log }: Telemetry): void {
  const isUnreadable = ({ error }: SweepReport['failed'][number]): boolean =>
    isWaitstateError(error, ...UNREADABLE_CODES);
  for (const { tenant, run, error } of failed.filter((each) => !isUnreadable(each)))
    log('error', 'A run could not be swept. The next sweep retries it.', { tenant, run, ...errorFields(error) });
  const unreadable = failed.filter(isUnreadable);
  if (unreadable.length === 0) return;
  const first = unreadable.slice(0, 5).map(({ tenant, run, error }) => ({ tenant, run, ...errorFields(error) }));
  log('error', 'Due records cannot be read. They stay due until they are repaired or removed.', {
    count: unreadable.length,
    first,
  });
}

/** The shards of an event; the event of a single sweeper has none. */
function readShards(event: unknown): { readonly shards?: readonly number[] } {
  const { shards } = Object(event) as { shards?: unknown };
  if (shards === undefined) return {};
  const isShard = (shard: unknown): shard is number => SHARDS.some((each) => each === shard);
  if (!Array.isArray(shards) || !shards.every(isShard))
    throw invalidInput(
      '`shards` in the event of a sweep',
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
