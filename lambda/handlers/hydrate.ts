import { randomUUID } from 'node:crypto';
import { type ContextFactory, toRunContext } from '../checkpoints/engine.ts';
import { invocationPayload } from '../protocol/invocation-payload.ts';
import { LEASE_GRACE_MS } from '../runtime/invocation/claim.ts';
import { claimRun } from '../runtime/remote/claim-run.ts';
import { releaseClaim } from '../runtime/remote/release-claim.ts';
import type { SignedUrls } from '../storage/ports.ts';
import type { AgentFunctions } from './agent-functions.ts';

/** The dependencies of `hydrate`. */
export interface HydrateOptions {
  readonly contexts: ContextFactory;
  readonly functions: AgentFunctions;
  /** Transfers states that are too large for an event. @default they are refused */
  readonly signedUrls?: SignedUrls | undefined;
}

/** A run and the function that executes it. */
interface Hydration {
  readonly tenant: string;
  readonly run: string;
  readonly agent: string;
  readonly function: string;
}

// As long as any Lambda function may take, which enforces its timeout itself.
const LEASE_MS = 15 * 60_000 + LEASE_GRACE_MS;

/**
 * Claims a run on behalf of its agent, and invokes its function with everything that it needs to resume. It skips a run
 * that is already claimed, and releases its claim if the function cannot be invoked.
 */
export async function hydrate(
  { contexts, functions, signedUrls }: HydrateOptions,
  { tenant, run, agent, function: name }: Hydration,
): Promise<void> {
  // A new name for each delivery: a repeated stream batch or sweep must not take the run from the function that has the
  // lease.
  const by = `delivery ${randomUUID()}`;
  const at = toRunContext(await contexts.forTenant(), tenant, run);
  const claimed = await claimRun(at, agent, { by, leaseMs: LEASE_MS });
  if (typeof claimed === 'string') return;
  try {
    const content = await invocationPayload(at, claimed.loaded, { signedUrls });
    await functions.invokeAsync(name, { waitstate: 1, tenant, run, agent, ...content });
  } catch (error) {
    // If this fails, too, the run is free again when the lease expires.
    await releaseClaim(at, by, claimed.before.head.meta.work).catch(() => undefined);
    throw error;
  }
}
