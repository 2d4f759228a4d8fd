import { contextFactory } from '../../../lambda/checkpoints/context-factory.ts';
import { ANY_TYPE } from '../../../lambda/checkpoints/document/unknown-instance.ts';
import { type Poller, repeatedly } from '../../../lambda/runtime/agent/poll.ts';
import { systemClock } from '../../../lambda/runtime/clock.ts';
import type { Delivery, Log, Runtime } from '../../../lambda/runtime/runtime.ts';
import type { Storage } from '../../../lambda/storage/ports.ts';
import { styled } from '../../terminal/line.ts';
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

export interface LocalRuntimeOptions {
  readonly storage: Storage;
  readonly folder: string;
  readonly tenant: string;
  /** The files of agents. */
  readonly files: readonly string[];
  /** Where the server is. */
  readonly url: string;
  readonly log: DevLog;
  /** That of the processes of agents. */
  readonly environment: NodeJS.ProcessEnv;
  readonly concurrency: number;
  readonly timing: Timing;
}

/** How it begins; `known` is called when the agents are known, before runs go on. */
interface Beginning {
  readonly watch: boolean;
  readonly known?: (() => Promise<void>) | undefined;
}

/** What runs agents on one machine: each invocation in a process of its own. */
export interface LocalRuntime {
  readonly runtime: Runtime;
  readonly files: AgentFiles;
  /** How many processes run a run. */
  readonly runningCount: number;
  /** Gets to know the agents, and begins to run what is ready; with `watch`, looks again at files that change. */
  start(options: Beginning): Promise<void>;
  /** Begins nothing more; what goes on may do so for a moment. */
  stop(): Promise<void>;
  /** Ends all processes at once. */
  kill(): void;
}

export function createLocalRuntime(options: LocalRuntimeOptions): LocalRuntime {
  const { storage, tenant, log, timing, concurrency } = options;
  const runtime: Runtime = {
    contexts: contextFactory(storage, { tenant, types: ANY_TYPE }),
    clock: systemClock,
    random: Math.random,
    deliver: async (delivery) => queue.deliver(delivery),
    log: logTo(log),
  };
  const loops: { poll?: Poller; sweep?: Poller } = {};
  const processes = createAgentProcesses(options.environment);
  const agents = createWatchedAgents({
    processes,
    log,
    loadTimeoutMs: timing.heartbeatTimeoutMs,
    onChange: () => void goOn(),
  });
  const { files } = agents;
  const jobs = { ...options, clock: runtime.clock, processes, files };
  const ends = createRunEndLog(log, runtime.clock);
  const { invoke, logUnloadable: tellUnloadable } = createRunInvoker({
    ...jobs,
    runtime,
    runEnds: ends,
    onApprovalPending: () => loops.sweep?.pollNow(),
  });
  const failed = ({ run }: Delivery, error: unknown) =>
    runtime.log('error', 'An invocation could not begin; it is tried again later.', { run, error: String(error) });
  const queue = createInvocationQueue({
    concurrency,
    crashBackoffMs: timing.crashBackoffMs,
    invoke,
    onStartFailed: failed,
  });
  const telling = (agent: string | undefined) => notifierFor(jobs, agent);
  const look = createDueLoop({
    ...{ runtime, files, queue, notifierFor: telling, log, leaseMs: timing.leaseMs, runEnds: ends },
    logUnloadable: (delivery) => void tellUnloadable(delivery).catch((error) => failed(delivery, error)),
  });

  /** What waited for other code, or had crashed, may go on with the code of now. */
  async function goOn(): Promise<void> {
    queue.retryNow();
    await look.deliverReady({ parked: true }).catch((error) => log.server(styled('red', String(error))));
  }

  async function begin({ watch, known }: Beginning): Promise<void> {
    await agents.load(options.files, { watch });
    if (isStopping) return;
    await known?.();
    await look.deliverInterrupted();
    if (isStopping) return;
    loops.poll = repeatedly(runtime, timing.pollIntervalMs, look.deliverReady);
    loops.sweep = repeatedly(runtime, timing.sweepIntervalMs, async () => {
      await look.sweep();
      await look.logEnded();
    });
  }

  let starting = Promise.resolve();
  let isStopping = false;
  return {
    runtime,
    files,
    get runningCount() {
      return queue.runningCount;
    },
    start(beginning) {
      starting = begin(beginning);
      return starting;
    },
    async stop() {
      isStopping = true;
      const looked = Promise.all([loops.poll?.stop(), loops.sweep?.stop()]);
      await queue.stop(timing.shutdownGraceMs, processes.killAll);
      await Promise.all([looked, starting.catch(() => {})]);
      agents.close();
    },
    kill: () => processes.killAll(),
  };
}

/** Warnings and errors of the runtime and of the API, for people; what is said again and again is said once. */
function logTo(log: DevLog): Log {
  let last = '';
  return (level, message, { run, ...fields }) => {
    const said = Object.entries(fields).filter(([, value]) => value !== undefined);
    const details = said.map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`);
    const now = JSON.stringify([run, message, details]);
    if (level === 'info' || now === last) return;
    last = now;
    const style = level === 'error' ? 'red' : 'yellow';
    const line = [styled(style, message), details.length > 0 ? ` (${details.join(', ')})` : ''];
    if (typeof run === 'string') log.run(run, ...line);
    else log.server(...line);
  };
}
