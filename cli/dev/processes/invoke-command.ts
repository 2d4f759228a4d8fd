import { type RunContext, readLiveHead, withoutAgentCode, withTenant } from '../../../lambda/checkpoints/engine.ts';
import { hasEnded } from '../../../lambda/core/status.ts';
import { invocationPayload } from '../../../lambda/protocol/invocation-payload.ts';
import { startLeaseRenewal } from '../../../lambda/runtime/invocation/lease.ts';
import { claimRun } from '../../../lambda/runtime/remote/claim-run.ts';
import { releaseLease } from '../../../lambda/runtime/remote/release-claim.ts';
import type { Delivery, Runtime } from '../../../lambda/runtime/runtime.ts';
import { CLAIMANT, type JobOptions } from './job-process.ts';
import type { InvocationReport } from './messages.ts';
import type { ProcessExit } from './supervise.ts';

export interface CommandInvokerOptions extends JobOptions {
  readonly runtime: Runtime;
}

/** How a command executed a run. */
export type CommandEnd =
  /** The run suspended, yielded or ended, or there was nothing to execute. */
  | { readonly ended: InvocationReport; readonly steps: number }
  /** The process ended, and the run did not. */
  | { readonly crashed: ProcessExit; readonly pid: number | undefined };

/**
 * Claims a run, starts the command with the run on its standard input, and renews the lease until the process ends. A
 * run that the process neither suspended nor ended is ready again.
 */
export async function invokeCommand(
  { runtime, processes, log, timing }: CommandInvokerOptions,
  { tenant, run, agent = '' }: Delivery,
  command: string,
  onStart: (pid: number | undefined) => void,
): Promise<CommandEnd> {
  const at = await withoutAgentCode(withTenant(runtime.contexts, tenant)).forRun(run);
  const claimed = await claimRun(at, agent, { by: CLAIMANT, leaseMs: timing.leaseMs });
  if (typeof claimed === 'string')
    return { ended: { end: 'skipped', reason: claimed === 'suspended' ? 'waiting' : claimed }, steps: 0 };
  const lease = { by: CLAIMANT, until: Infinity, lease: { milliseconds: timing.leaseMs } };
  const stopRenewal = startLeaseRenewal(at, runtime.clock, lease);
  try {
    const content = await invocationPayload(at, claimed.loaded, { signedUrls: undefined, maxBytes: Infinity });
    const deadline = new Date(runtime.clock.now() + timing.invocationTimeoutMs);
    const child = processes.startCommand({
      command,
      input: { waitstate: 1, tenant, run, agent, deadline, ...content },
      timeoutMs: timing.invocationTimeoutMs,
      onOutput: (line) => log.output(run, line),
    });
    onStart(child.pid);
    const exit = await child.exited;
    return (await isLeasedHere(at))
      ? { crashed: exit, pid: child.pid }
      : await reportEnd(at, claimed.loaded.record.meta.stepNumber);
  } finally {
    stopRenewal();
    // The server is stopping if the processes are closed; it claims the run again at its next start.
    if (!processes.isClosed && (await isLeasedHere(at))) await releaseLease(at, CLAIMANT, { attempted: true });
  }
}

const isLeasedHere = async (at: RunContext): Promise<boolean> =>
  (await readLiveHead(at).catch(() => undefined))?.meta.work?.lease?.by === CLAIMANT;

async function reportEnd(at: RunContext, stepsBefore: number): Promise<CommandEnd> {
  const { status, stepNumber } = (await readLiveHead(at)).meta;
  const ended: InvocationReport = hasEnded(status)
    ? { end: 'finished', status }
    : { end: 'suspended', status, ...(status === 'READY' && { continues: true }) };
  return { ended, steps: Math.max(0, stepNumber - stepsBefore) };
}
