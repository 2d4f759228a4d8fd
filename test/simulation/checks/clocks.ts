import type { HeadMeta } from '../../../lambda/checkpoints/format/meta.ts';
import { hasEnded } from '../../../lambda/core/status.ts';
import { MAX_CLOCK_DIFFERENCE_MS } from '../../../lambda/runtime/clock-difference.ts';
import { LEASE_GRACE_MS } from '../../../lambda/runtime/invocation/claim.ts';
import type { World } from '../world.ts';

/** How exactly a process knows the time of the storage, if none of its requests was slow. */
const ERROR_MS = 3_500;

/** How far a stored time may be ahead or behind whatever happens: a paused process measures badly and writes late. */
const MAX_AHEAD_MS = 5 * 60_000;
const MAX_BEHIND_MS = 20 * 60_000;

/** Checks that a claim takes no lease that is alive, lasts as long as its function, and is made by a sane clock. */
export function checkClaimTime(world: World, run: string, before: HeadMeta, head: HeadMeta): void {
  const { lease } = head.work ?? {};
  const invocation = world.ledger.invocations.get(lease?.by ?? '');
  const isClaim = head.work?.claimedVersion !== before.work?.claimedVersion;
  if (!isClaim || !lease || !invocation || invocation.process.wasDisturbed) return;
  const { process, deadline, leaseMs } = invocation;
  const { now } = world.timeline;
  const report = (what: string) => world.addFinding(`${process.name} claims run ${run}: ${what}`);
  const taken = hasEnded(before.status) ? undefined : before.work?.lease;
  const aliveMs = taken && taken.by !== lease.by ? taken.until - now : 0;
  if (aliveMs > ERROR_MS) report(`the lease of ${taken?.by} lasts for another ${aliveMs} ms`);
  const endsAt = leaseMs === undefined ? deadline - process.skewMs + LEASE_GRACE_MS : now + leaseMs;
  const tooLongMs = lease.until - endsAt;
  // A short lease that is renewed counts from the time before the claim was sent.
  if (tooLongMs > ERROR_MS || (leaseMs === undefined && tooLongMs < -ERROR_MS))
    report(`its lease ends ${tooLongMs} ms too late`);
  if (Math.abs(process.skewMs) > MAX_CLOCK_DIFFERENCE_MS + ERROR_MS)
    report(`its clock is ${process.skewMs} ms ahead, so it must not claim`);
}

/** Checks that the deadline of a run that starts is as far ahead as its timeout. */
export function checkStartTime(world: World, run: string, { work }: HeadMeta): void {
  if (work?.deadline === undefined || work.timeoutMs === undefined) return;
  checkPresent(world, `the deadline of run ${run}`, work.deadline - work.timeoutMs);
}

/** Checks that an approval is requested at the present time, from which its deadline counts. */
export function checkRequestTime(world: World, run: string, requestedAt: number): void {
  checkPresent(world, `the deadline of an approval of run ${run}`, requestedAt);
}

function checkPresent(world: World, what: string, time: number): void {
  const aheadMs = time - world.timeline.now;
  if (aheadMs > MAX_AHEAD_MS || aheadMs < -MAX_BEHIND_MS)
    world.addFinding(`${what} counts from a time ${aheadMs} ms ahead`);
}
