import { type ContextFactory, type HeadMeta, randomId } from '../checkpoints/engine.ts';
import { type Duration, toMilliseconds } from '../core/duration.ts';
import { isWaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import type { Status } from '../core/status.ts';
import { claimNext, findClaimed, type NextRun } from '../runtime/remote/claim-next.ts';
import type { RemoteClaimant } from '../runtime/remote/claim-run.ts';
import { extendLease, releaseLease } from '../runtime/remote/release-claim.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { errorFields } from '../runtime/telemetry.ts';
import type { SignedUrls } from '../storage/ports.ts';
import { type InvocationPayload, invocationPayload } from './invocation-payload.ts';

/** The dependencies of claims. */
export interface ClaimOptions {
  /** The contexts of the tenant of the worker. */
  readonly contexts: ContextFactory;
  readonly runtime: Pick<Runtime, 'clock' | 'log'>;
  readonly signedUrls: SignedUrls | undefined;
  /** The most bytes of content that a response can have without a bucket. */
  readonly maxBytes: number;
}

/** What a worker asks for. */
export interface ClaimRequest {
  readonly agents: readonly string[];
  /** The name of the worker, for people. @default "worker" */
  readonly worker?: string | undefined;
  /** @default one minute */
  readonly lease?: Duration | undefined;
  /** How long to wait if no run is ready. @default 20 seconds */
  readonly wait?: Duration | undefined;
  /** Identifies the request. @default a random key */
  readonly key?: string | undefined;
  /** Whether the worker repeats a request with the same key whose response it did not get. */
  readonly repeats?: boolean | undefined;
  /** Aborts when the worker is gone. */
  readonly signal?: AbortSignal | undefined;
}

/** The lease of a worker. */
interface Lease {
  /** Renew and release the lease with this id. */
  readonly id: string;
  readonly until: Date;
}

/** A run for a worker, with everything that it needs to resume it. */
export type ClaimedInvocation = InvocationPayload & {
  readonly waitstate: 1;
  readonly tenant: string;
  readonly run: string;
  readonly agent: string;
  readonly lease: Lease;
};

const DEFAULT_LEASE: Duration = { minutes: 1 };
const LEASE_MS = { least: 5_000, most: 900_000 };
const DEFAULT_WAIT: Duration = { seconds: 20 };
// The response must arrive before API Gateway stops waiting for it.
const MAX_WAIT_MS = 20_000;

/** Claims the next ready run of some agents for a worker; undefined if no run became ready while it waited. */
export async function claimForWorker(
  options: ClaimOptions,
  request: ClaimRequest,
): Promise<ClaimedInvocation | undefined> {
  const { agents, worker = 'worker', key = randomId(), repeats = false, signal } = request;
  const claimant = { by: `${worker} ${key}`, leaseMs: toLeaseMs('`lease`', request.lease) };
  const waitMs = toMilliseconds('`wait`', request.wait ?? DEFAULT_WAIT);
  if (waitMs > MAX_WAIT_MS) throw invalidInput('`wait`', 'at most 20 seconds', request.wait);
  const context = await options.contexts.forTenant();
  for (;;) {
    const found =
      (repeats ? await findClaimed(context, claimant) : undefined) ??
      (await claimNext(options.runtime, context, { agents, claimant, waitMs, signal }));
    if (!found) return undefined;
    if (signal?.aborted) {
      await releaseLease(found.at, claimant.by, { attempted: false }).catch(ignoreLostLease);
      return undefined;
    }
    const invocation = await hydrateForWorker(options, claimant, found);
    if (invocation) return invocation;
  }
}

/** The run as a worker gets it; undefined if it cannot be sent, in which case it is parked with the reason. */
async function hydrateForWorker(
  { runtime, signedUrls, maxBytes }: ClaimOptions,
  { by }: RemoteClaimant,
  { at, agent, loaded, deliveries }: NextRun,
): Promise<ClaimedInvocation | undefined> {
  try {
    const content = await invocationPayload(at, loaded, { signedUrls, maxBytes });
    const { tenant, run } = at;
    return { waitstate: 1, tenant, run, agent, lease: leaseOf(loaded.head.meta, by), ...content };
  } catch (error) {
    const isTooLarge = isWaitstateError(error, 'RECORD_TOO_LARGE');
    const { tenant, run } = at;
    runtime.log('error', 'A run could not be sent to a worker.', { tenant, run, agent, ...errorFields(error) });
    const park = isTooLarge && { park: { reason: error.message, deliveries: deliveries + 1 } };
    await releaseLease(at, by, { attempted: false, ...park });
    if (!isTooLarge) throw error;
    return undefined;
  }
}

function ignoreLostLease(error: unknown): void {
  if (!isWaitstateError(error, 'LEASE_LOST')) throw error;
}

/** The run of a worker: its status, and its lease while it has one. */
export interface LeasedRun {
  readonly run: string;
  /** ENDING if the run was cancelled or timed out: the worker has to stop and finish it. */
  readonly status: Status;
  readonly lease?: Lease;
}

/** Extends the lease of a worker from now on; throws LEASE_LOST if it has none. */
export async function renewForWorker(
  contexts: ContextFactory,
  run: string,
  { lease, for: duration }: { readonly lease: string; readonly for?: Duration | undefined },
): Promise<LeasedRun> {
  const head = await extendLease(await contexts.forRun(run), lease, toLeaseMs('`for`', duration));
  return { run, status: head.status, lease: leaseOf(head, lease) };
}

/** Makes the run of a worker READY for another one; throws LEASE_LOST if the worker has no lease. */
export async function releaseForWorker(
  contexts: ContextFactory,
  run: string,
  { lease, attempted = true }: { readonly lease: string; readonly attempted?: boolean | undefined },
): Promise<LeasedRun> {
  const { status } = await releaseLease(await contexts.forRun(run), lease, { attempted });
  return { run, status };
}

function toLeaseMs(argument: string, duration: Duration = DEFAULT_LEASE): number {
  const milliseconds = toMilliseconds(argument, duration);
  if (milliseconds >= LEASE_MS.least && milliseconds <= LEASE_MS.most) return milliseconds;
  throw invalidInput(argument, 'from 5 seconds to 15 minutes', duration);
}

const leaseOf = ({ work }: HeadMeta, id: string): Lease => ({ id, until: new Date(work?.lease?.until ?? 0) });
