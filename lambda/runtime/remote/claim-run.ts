import type { RunContext } from '../../checkpoints/engine.ts';
import { type ClaimedRun, claim, type Skipped } from '../invocation/claim.ts';
import { suspendAgain } from './wait.ts';

/** Who claims a run for a program in another process or language, and the length of its lease. */
export interface RemoteClaimant {
  /** Identifies the claim; it becomes the id of the lease. */
  readonly by: string;
  readonly leaseMs: number;
}

/**
 * Claims a run on behalf of its agent. Returns why not if it cannot be claimed, or `suspended` if it was woken by an
 * event that it does not wait for and is suspended again.
 */
export async function claimRun(
  at: RunContext,
  agent: string,
  { by, leaseMs }: RemoteClaimant,
): Promise<ClaimedRun | Skipped | 'suspended'> {
  for (;;) {
    const claimant = { by, until: Infinity, lease: { milliseconds: leaseMs } };
    const claimed = await claim(at, { name: agent, run: () => undefined }, claimant);
    if (typeof claimed === 'string') return claimed;
    const outcome = await suspendAgain(at, claimed);
    if (outcome === 'suspended') return outcome;
    if (outcome === 'resumable') return claimed;
  }
}
