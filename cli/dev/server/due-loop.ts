import { type FailedRun, withTenant } from '../../../lambda/checkpoints/engine.ts';
import { hasEnded, STATUSES } from '../../../lambda/core/status.ts';
import { createOperator } from '../../../lambda/operator/create-operator.ts';
import { isPaused } from '../../../lambda/runtime/control/pause-agent.ts';
import { readyRuns, runsLeasedBy } from '../../../lambda/runtime/control/ready-runs.ts';
import { type SweepOptions, sweepDue } from '../../../lambda/runtime/control/sweep.ts';
import type { Delivery, Runtime } from '../../../lambda/runtime/runtime.ts';
import { styled } from '../../terminal/line.ts';
import type { AgentCommands } from '../agents/agent-commands.ts';
import type { AgentFiles } from '../agents/agent-files.ts';
import type { DevLog } from '../log/dev-log.ts';
import type { RunEndLog } from '../log/log-run-ends.ts';
import type { InvocationQueue } from '../processes/invocation-queue.ts';
import { CLAIMANT } from '../processes/job-process.ts';
import type { WorkerAgents } from './worker-agents.ts';

const ENDED_STATUSES = STATUSES.filter(hasEnded);

export interface DueLoopOptions {
  readonly runtime: Runtime;
  readonly files: AgentFiles;
  readonly commands: Pick<AgentCommands, 'find'>;
  readonly workers: Pick<WorkerAgents, 'has'>;
  readonly queue: InvocationQueue;
  readonly notifierFor: NonNullable<SweepOptions['notifierFor']>;
  readonly log: DevLog;
  readonly leaseMs: number;
  readonly runEnds: RunEndLog;
  /** Logs that a run is ready, but its agent file does not load. */
  logUnloadable(delivery: Delivery): void;
}

/** Finds runs that the server has to run, resume or report. */
export interface DueLoop {
  /** Delivers the runs that a previous server was running when it ended. */
  deliverInterrupted(): Promise<void>;
  /** Delivers runs that are READY; with `includesParked`, also those that wait for other code. */
  deliverReady(options?: { readonly includesParked?: boolean }): Promise<void>;
  /** Handles due timers, reminders and expired leases. */
  sweep(): Promise<void>;
  /** Logs runs that ended, including those that another process ended. */
  logEnded(): Promise<void>;
}

export function createDueLoop(options: DueLoopOptions): DueLoop {
  const { runtime, files, commands, workers, queue, notifierFor, log, leaseMs, runEnds, logUnloadable } = options;
  const { contexts } = runtime;
  // An agent may start runs in another tenant.
  const tenants = () => new Set([contexts.tenant, ...files.agents().map((agent) => agent.tenant)]);
  const endedSince = new Map<string, Date>();
  const startedAt = new Date(runtime.clock.now());
  const unknown = new Set<string>();
  const failures = new Map<string, string>();

  const runsHere = (agent: string): boolean => (files.find(agent) ?? commands.find(agent)) !== undefined;
  const hasWorkers = ({ agent = '' }: Delivery): boolean => !runsHere(agent) && workers.has(agent);

  function canDeliver(delivery: Delivery): boolean {
    const { run, agent = '' } = delivery;
    if (hasWorkers(delivery)) return false;
    const found = files.find(agent);
    const isRunHere = runsHere(agent);
    if (!isRunHere && !unknown.has(agent))
      log.run(run, styled('yellow', `waits: no agent file, command or worker runs agent "${agent}"`));
    if (isRunHere) unknown.delete(agent);
    else unknown.add(agent);
    if (found?.problem) logUnloadable(delivery);
    return isRunHere && !found?.problem;
  }

  function logFailure({ run, error }: FailedRun): void {
    const why = error instanceof Error ? error.message : String(error);
    if (failures.get(run) !== why) log.run(run, styled('red', why));
    failures.set(run, why);
  }

  return {
    async deliverInterrupted() {
      for await (const delivery of runsLeasedBy(await contexts.forTenant(), CLAIMANT, leaseMs))
        if (canDeliver(delivery)) queue.deliver(delivery);
    },
    async deliverReady({ includesParked = false } = {}) {
      for (const tenant of tenants()) {
        const context = await withTenant(contexts, tenant).forTenant();
        const paused = new Map<string, boolean>();
        for await (const delivery of readyRuns(context, { includesParked })) {
          const { agent = '' } = delivery;
          if (!queue.hasCapacity) return;
          if (!canDeliver(delivery)) continue;
          if (!paused.has(agent)) paused.set(agent, await isPaused(context, agent));
          if (!paused.get(agent)) queue.deliver(delivery);
        }
      }
    },
    async sweep() {
      const { failed } = await sweepDue({ runtime, notifierFor, canDeliver, hasWorkers });
      for (const each of failed) logFailure(each);
    },
    async logEnded() {
      for (const tenant of tenants()) {
        const operator = createOperator({ ...runtime, contexts: withTenant(contexts, tenant) });
        const since = endedSince.get(tenant) ?? startedAt;
        const { runs } = await operator.runs({ status: [...ENDED_STATUSES], since });
        // A run that is being executed here is logged when its process ends.
        const stillRunning = runs.filter(({ run }) => queue.has({ tenant, run }));
        for (const each of runs.toReversed())
          if (!stillRunning.includes(each) && (runsHere(each.agent ?? '') || workers.has(each.agent ?? '')))
            await runEnds.logListedEnd(operator, each);
        const from = stillRunning.at(-1) ?? runs[0];
        if (from) endedSince.set(tenant, from.updatedAt);
      }
    },
  };
}
