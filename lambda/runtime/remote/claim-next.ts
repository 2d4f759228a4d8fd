import {
  type Context,
  type LoadedCheckpoint,
  loadCheckpoint,
  type RunContext,
  toRunContext,
} from '../../checkpoints/engine.ts';
import { isStorageError } from '../../core/errors.ts';
import { readyRuns, runsLeasedBy } from '../control/ready-runs.ts';
import type { Delivery, Runtime } from '../runtime.ts';
import { errorFields } from '../telemetry.ts';
import { claimRun, type RemoteClaimant } from './claim-run.ts';

/** What a worker asks for. */
export interface ClaimNextOptions {
  /** The agents that it executes. */
  readonly agents: readonly string[];
  readonly claimant: RemoteClaimant;
  /** How long to wait for a run if none is ready. */
  readonly waitMs: number;
  /** Aborts when the worker is gone. */
  readonly signal?: AbortSignal | undefined;
}

/** A run that was claimed for a worker. */
export interface NextRun {
  readonly at: RunContext;
  readonly agent: string;
  readonly loaded: LoadedCheckpoint;
  /** How often it was made ready since it was last executed. */
  readonly deliveries: number;
}

const FIRST_POLL_MS = 100;
const MAX_POLL_MS = 1_000;

// How late the index may list a run that became ready.
const INDEX_LAG_MS = 60_000;

/** Claims the run that has been ready for longest; waits for one if there is none. Undefined if none became ready. */
export async function claimNext(
  runtime: Pick<Runtime, 'clock' | 'log'>,
  context: Context,
  options: ClaimNextOptions,
): Promise<NextRun | undefined> {
  const { clock } = runtime;
  const { waitMs, signal } = options;
  const deadline = clock.now() + waitMs;
  let since: number | undefined;
  for (let pollMs = FIRST_POLL_MS; !signal?.aborted; pollMs = Math.min(MAX_POLL_MS, pollMs * 1.5)) {
    const polledAt = context.now();
    const found = await claimReady(runtime, context, options, since);
    const remainingMs = deadline - clock.now();
    if (found || remainingMs <= 0) return found;
    // What was ready before cannot be claimed, so only newer runs are read again.
    since = polledAt - INDEX_LAG_MS;
    await clock.sleep(Math.min(pollMs, remainingMs), signal).catch(() => {});
  }
  return undefined;
}

// Workers that lose a race for one run choose among this number of others.
const CANDIDATES = 20;

async function claimReady(
  { log }: Pick<Runtime, 'log'>,
  context: Context,
  { agents, claimant }: ClaimNextOptions,
  since: number | undefined,
): Promise<NextRun | undefined> {
  const wanted = new Set(agents);
  const candidates: Delivery[] = [];

  async function claimCandidate(): Promise<NextRun | undefined> {
    for (let next = candidates.shift(); next; next = candidates.shift()) {
      const { tenant, run, agent = '' } = next;
      if (!wanted.has(agent)) continue;
      const at = toRunContext(context, tenant, run);
      const claimed = await claimRun(at, agent, claimant).catch((error) => {
        if (isStorageError(error)) throw error;
        log('error', 'A run could not be claimed for a worker.', { tenant, run, agent, ...errorFields(error) });
        return 'failed' as const;
      });
      if (typeof claimed !== 'string') {
        const { loaded, before } = claimed;
        return { at, agent, loaded, deliveries: before.head.meta.work?.deliveries ?? 0 };
      }
      if (claimed === 'paused') wanted.delete(agent);
      if (claimed === 'taken') shuffle(candidates);
    }
    return undefined;
  }

  for await (const delivery of readyRuns(context, since === undefined ? {} : { since })) {
    candidates.push(delivery);
    const claimed = candidates.length < CANDIDATES ? undefined : await claimCandidate();
    if (claimed) return claimed;
  }
  return claimCandidate();
}

/** Reorders a list randomly. https://en.wikipedia.org/wiki/Fisher–Yates_shuffle */
function shuffle<T>(list: T[]): void {
  for (let last = list.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1));
    const moved = list[last] as T;
    list[last] = list[other] as T;
    list[other] = moved;
  }
}

/**
 * The run that an earlier request of this claimant got, if it has written nothing to it: the response may have been
 * lost. It reads the due index, so it is only for a request that is known to be repeated.
 */
export async function findClaimed(context: Context, { by, leaseMs }: RemoteClaimant): Promise<NextRun | undefined> {
  for await (const { tenant, run, agent = '' } of runsLeasedBy(context, by, leaseMs)) {
    if (tenant !== context.tenant) continue;
    const at = toRunContext(context, tenant, run);
    const loaded = await loadCheckpoint(at);
    const { lease, claimedVersion } = loaded.head.meta.work ?? {};
    if (lease?.by === by && claimedVersion === loaded.record.version) return { at, agent, loaded, deliveries: 0 };
  }
  return undefined;
}
