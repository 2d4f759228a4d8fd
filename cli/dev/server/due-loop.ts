import { contextsFor } from '../../../lambda/checkpoints/derived-contexts.ts';
import type { FailedRun } from '../../../lambda/checkpoints/operations/delete.ts';
import { hasEnded, STATUSES } from '../../../lambda/core/status.ts';
import { deskOn } from '../../../lambda/operator/create-operator.ts';
import { isPaused } from '../../../lambda/runtime/control/pause-agent.ts';
import { readyRuns, runsHeldBy } from '../../../lambda/runtime/control/ready-runs.ts';
import { type Sweeping, sweepDue } from '../../../lambda/runtime/control/sweep.ts';
import type { Delivery, Runtime } from '../../../lambda/runtime/runtime.ts';
import { styled } from '../../terminal/line.ts';
import type { AgentFiles } from '../agents/agent-files.ts';
import type { DevLog } from '../log/dev-log.ts';
import type { ToldEnds } from '../log/log-run-ends.ts';
import type { Invocations } from '../processes/invocations.ts';
import { CLAIMANT } from '../processes/job-process.ts';

const ENDED = STATUSES.filter(hasEnded);

export interface LookingOptions {
  readonly runtime: Runtime;
  readonly files: AgentFiles;
  readonly queue: Invocations;
  readonly telling: NonNullable<Sweeping['telling']>;
  readonly log: DevLog;
  readonly leaseMs: number;
  readonly ends: ToldEnds;
  /** A run is ready, and its file does not load. */
  tellUnloadable(delivery: Delivery): void;
}

/** How the server finds what is to be done. */
export interface Looking {
  /** Runs that a server before this one had when it ended. */
  forCutOff(): Promise<void>;
  /** Runs that somebody should run; also those that wait for other code, when there may be some. */
  forReady(options?: { readonly parked?: boolean }): Promise<void>;
  /** What is due: timers, reminders, what nobody took. */
  atDue(): Promise<void>;
  /** Runs that ended, whoever ended them. */
  atEnded(): Promise<void>;
}

export function lookingFor(options: LookingOptions): Looking {
  const { runtime, files, queue, telling, log, leaseMs, ends, tellUnloadable } = options;
  const { contexts } = runtime;
  // Agents may start runs in a tenant of their own.
  const tenants = () => new Set([contexts.tenant, ...files.agents().map((agent) => agent.tenant)]);
  const endedSince = new Map<string, Date>();
  const begun = new Date(runtime.clock.now());
  const unknown = new Set<string>();
  const failures = new Map<string, string>();

  function takes(delivery: Delivery): boolean {
    const { run, agent = '' } = delivery;
    const found = files.find(agent);
    if (!found && !unknown.has(agent))
      log.run(run, styled('yellow', `is of agent "${agent}", which no file here has; it waits for one`));
    if (found) unknown.delete(agent);
    else unknown.add(agent);
    if (found?.problem) tellUnloadable(delivery);
    return found !== undefined && !found.problem;
  }

  function tellFailure({ run, error }: FailedRun): void {
    const why = error instanceof Error ? error.message : String(error);
    if (failures.get(run) !== why) log.run(run, styled('red', why));
    failures.set(run, why);
  }

  return {
    async forCutOff() {
      for await (const delivery of runsHeldBy(await contexts.context(), CLAIMANT, leaseMs))
        if (takes(delivery)) queue.deliver(delivery);
    },
    async forReady({ parked = false } = {}) {
      for (const tenant of tenants()) {
        const context = await contextsFor(contexts, tenant).context();
        const paused = new Map<string, boolean>();
        for await (const delivery of readyRuns(context, { parked })) {
          const { agent = '' } = delivery;
          if (!queue.hasRoom) return;
          if (!takes(delivery)) continue;
          if (!paused.has(agent)) paused.set(agent, await isPaused(context, agent));
          if (!paused.get(agent)) queue.deliver(delivery);
        }
      }
    },
    async atDue() {
      const { failed } = await sweepDue({ runtime, telling, takes });
      for (const each of failed) tellFailure(each);
    },
    async atEnded() {
      for (const tenant of tenants()) {
        const desk = deskOn({ ...runtime, contexts: contextsFor(contexts, tenant) });
        const since = endedSince.get(tenant) ?? begun;
        const { runs } = await desk.runs({ status: [...ENDED], since });
        // What a process is at is told when that is over.
        const goOn = runs.filter(({ run }) => queue.has({ tenant, run }));
        for (const each of runs.toReversed())
          if (!goOn.includes(each) && files.find(each.agent ?? '')) await ends.tellListed(desk, each);
        const from = goOn.at(-1) ?? runs[0];
        if (from) endedSince.set(tenant, from.touchedAt);
      }
    },
  };
}
