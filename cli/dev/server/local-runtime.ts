import { ANY_TYPE, contextFactory } from '../../../lambda/checkpoints/engine.ts';
import type { KnownAgent } from '../../../lambda/http/app-options.ts';
import { type Poller, poll } from '../../../lambda/runtime/agent/poll.ts';
import { systemClock } from '../../../lambda/runtime/clock.ts';
import type { Delivery, Log, Runtime } from '../../../lambda/runtime/runtime.ts';
import type { Storage } from '../../../lambda/storage/ports.ts';
import { styled } from '../../terminal/line.ts';
import { createAgentCommands } from '../agents/agent-commands.ts';
import type { AgentFiles } from '../agents/agent-files.ts';
import { createWatchedAgents } from '../agents/watched-agents.ts';
import type { DevLog } from '../log/dev-log.ts';
import { createRunEndLog } from '../log/log-run-ends.ts';
import { createAgentProcesses } from '../processes/agent-processes.ts';
import { createInvocationQueue } from '../processes/invocation-queue.ts';
import { createRunInvoker } from '../processes/invoke-run.ts';
import type { Timing } from '../processes/timing.ts';
import { createDueLoop } from './due-loop.ts';
import { notifierFor } from './local-notifier.ts';
import { createWorkerAgents, type WorkerAgents } from './worker-agents.ts';

export interface LocalRuntimeOptions {
  readonly storage: Storage;
  readonly folder: string;
  readonly tenant: string;
  /** The agent files. */
  readonly files: readonly string[];
  /** Commands that run agents in other languages. */
  readonly commands: readonly string[];
  /** The environment of those commands, in addition to that of all agent processes. */
  readonly commandEnvironment: NodeJS.ProcessEnv;
  /** The URL of the server. */
  readonly url: string;
  readonly log: DevLog;
  /** The environment of agent processes. */
  readonly environment: NodeJS.ProcessEnv;
  readonly concurrency: number;
  readonly timing: Timing;
}

/** `onAgentsLoaded` is called when the agents are loaded, before runs resume. */
interface LocalStartOptions {
  readonly watch: boolean;
  readonly onAgentsLoaded?: (() => Promise<void>) | undefined;
}

/** Runs agents on one machine, each invocation in a separate process. */
export interface LocalRuntime {
  readonly runtime: Runtime;
  readonly files: AgentFiles;
  readonly workers: WorkerAgents;
  /** The agents that can be started: those in files, and those of workers. */
  agentSummaries(): readonly KnownAgent[];
  /** Whether a command runs agents of any other name. */
  readonly startsAny: boolean;
  /** How many processes are executing a run. */
  readonly runningCount: number;
  /** Loads the agents and starts to run what is ready; with `watch`, reloads files when they change. */
  start(options: LocalStartOptions): Promise<void>;
  /** Starts nothing more, and gives running invocations a moment to finish. */
  stop(): Promise<void>;
  /** Kills all processes immediately. */
  kill(): void;
}

export function createLocalRuntime(options: LocalRuntimeOptions): LocalRuntime {
  const { storage, tenant, log, timing, concurrency } = options;
  const runtime: Runtime = {
    contexts: contextFactory(storage, { tenant, types: ANY_TYPE }),
    clock: systemClock,
    random: Math.random,
    deliver: async (delivery) => queue.deliver(delivery),
    log: createRuntimeLog(log),
  };
  const loops: { poll?: Poller; sweep?: Poller } = {};
  const processes = createAgentProcesses(options.environment, options.commandEnvironment);
  const agents = createWatchedAgents({
    processes,
    log,
    loadTimeoutMs: timing.heartbeatTimeoutMs,
    onChange: () => void resumeParked(),
  });
  const { files } = agents;
  const workers = createWorkerAgents(log);
  const commands = createAgentCommands({
    commands: options.commands,
    processes,
    log,
    loadTimeoutMs: timing.heartbeatTimeoutMs,
    hasWorkers: workers.has,
  });
  const jobs = { ...options, clock: runtime.clock, processes, files, commands };
  const runEnds = createRunEndLog(log, runtime.clock);
  const { invoke, logUnloadable } = createRunInvoker({
    ...jobs,
    runtime,
    runEnds,
    onApprovalPending: () => loops.sweep?.pollNow(),
  });
  const logStartFailure = ({ run }: Delivery, error: unknown) =>
    runtime.log('error', 'An invocation could not start; it will be retried.', { run, error: String(error) });
  const queue = createInvocationQueue({
    concurrency,
    crashBackoffMs: timing.crashBackoffMs,
    invoke,
    onStartFailed: logStartFailure,
  });
  const agentNotifier = (agent: string | undefined) => notifierFor({ ...jobs, workers }, agent);
  const dueLoop = createDueLoop({
    runtime,
    files,
    commands,
    workers,
    queue,
    notifierFor: agentNotifier,
    log,
    leaseMs: timing.leaseMs,
    runEnds,
    logUnloadable: (delivery) => void logUnloadable(delivery).catch((error) => logStartFailure(delivery, error)),
  });

  /** Runs that wait for other code, or whose process crashed, may continue with the new code. */
  async function resumeParked(): Promise<void> {
    queue.retryNow();
    await dueLoop.deliverReady({ includesParked: true }).catch((error) => log.server(styled('red', String(error))));
  }

  async function startLoops({ watch, onAgentsLoaded }: LocalStartOptions): Promise<void> {
    await Promise.all([agents.load(options.files, { watch }), commands.describeAll()]);
    if (isStopping) return;
    await onAgentsLoaded?.();
    await dueLoop.deliverInterrupted();
    if (isStopping) return;
    loops.poll = poll(runtime, timing.pollIntervalMs, dueLoop.deliverReady);
    loops.sweep = poll(runtime, timing.sweepIntervalMs, async () => {
      await dueLoop.sweep();
      await dueLoop.logEnded();
    });
  }

  let starting = Promise.resolve();
  let isStopping = false;
  return {
    runtime,
    files,
    workers,
    agentSummaries() {
      const known = [...files.agentSummaries(), ...commands.agents(), ...workers.names().map((name) => ({ name }))];
      return [...Map.groupBy(known, ({ name }) => name).values()].flatMap(([first]) => first ?? []);
    },
    get startsAny() {
      return commands.runsAny;
    },
    get runningCount() {
      return queue.runningCount;
    },
    start(options) {
      starting = startLoops(options);
      return starting;
    },
    async stop() {
      isStopping = true;
      const loopsStopped = Promise.all([loops.poll?.stop(), loops.sweep?.stop()]);
      await queue.stop(timing.shutdownGraceMs, processes.killAll);
      await Promise.all([loopsStopped, starting.catch(() => {})]);
      agents.close();
    },
    kill: () => processes.killAll(),
  };
}

/** Logs warnings and errors of the runtime and of the API; repeated ones only once. */
function createRuntimeLog(log: DevLog): Log {
  let last = '';
  return (level, message, { run, ...fields }) => {
    const present = Object.entries(fields).filter(([, value]) => value !== undefined);
    const details = present.map(
      ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
    const now = JSON.stringify([run, message, details]);
    if (level === 'info' || now === last) return;
    last = now;
    const style = level === 'error' ? 'red' : 'yellow';
    const line = [styled(style, message), details.length > 0 ? ` (${details.join(', ')})` : ''];
    if (typeof run === 'string') log.run(run, ...line);
    else log.server(...line);
  };
}
