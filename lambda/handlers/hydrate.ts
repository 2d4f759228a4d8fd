import { randomUUID } from 'node:crypto';
import type { ContextFactory } from '../checkpoints/engine.ts';
import { loadCheckpoint, toRunContext } from '../checkpoints/engine.ts';
import { invocationPayload } from '../protocol/invocation-payload.ts';
import { type ClaimedRun, claim } from '../runtime/invocation/claim.ts';
import { releaseClaim } from '../runtime/remote/release-claim.ts';
import { suspendAgain } from '../runtime/remote/wait.ts';
import type { SignedUrls } from '../storage/ports.ts';
import type { AgentFunctions } from './agent-functions.ts';

/** What it takes to hydrate runs for the functions of their agents. */
export interface HydrateOptions {
  readonly contexts: ContextFactory;
  readonly functions: AgentFunctions;
  /** For runs that are too large for an event. @default they are refused */
  readonly signedUrls?: SignedUrls | undefined;
}

/** A run, and the function that is to run it. */
interface Hydration {
  readonly tenant: string;
  readonly run: string;
  readonly agent: string;
  readonly function: string;
}

// The longest that a Lambda function runs.
const LEASE_MS = 15 * 60_000;

/**
 * Claims a run for an agent that cannot do it itself, and invokes its function with all it takes to go on; one that is
 * taken is left alone. A claim whose function could not be invoked is given back.
 */
export async function hydrate(
  { contexts, functions, signedUrls }: HydrateOptions,
  { tenant, run, agent, function: name }: Hydration,
): Promise<void> {
  // Each time another: a stream delivers a batch again, a schedule repeats a sweep, and neither may take the run from the
  // function that has it.
  const by = `delivery ${randomUUID()}`;
  const at = toRunContext(await contexts.forTenant(), tenant, run);
  for (;;) {
    // Whether the run can be opened at all is for the claim to say.
    const before = await loadCheckpoint(at).catch(() => undefined);
    const until = at.now() + LEASE_MS;
    const claimed: ClaimedRun | string = await claim(at, { name: agent, run: () => undefined }, { by, until });
    if (typeof claimed === 'string') return;
    const woken = before ? await suspendAgain(at, before, claimed) : 'goes on';
    if (woken === 'woken') continue;
    if (woken === 'lies') return;
    try {
      const content = await invocationPayload(at, claimed.loaded, signedUrls);
      await functions.invokeAsync(name, { waitstate: 1, tenant, run, agent, ...content });
    } catch (error) {
      // If not even that works, the lease ends by itself.
      await releaseClaim(at, by, before?.head.meta.work).catch(() => undefined);
      throw error;
    }
    return;
  }
}
