import { contextsOn } from '../../../lambda/checkpoints/contexts.ts';
import { ANY_TYPE } from '../../../lambda/checkpoints/document/unknown-instance.ts';
import { systemClock } from '../../../lambda/runtime/agent/clock.ts';
import { type Repeated, repeatedly } from '../../../lambda/runtime/agent/poll.ts';
import type { Delivery, Log, Runtime } from '../../../lambda/runtime/runtime.ts';
import type { Storage } from '../../../lambda/storage/ports.ts';
import { styled } from '../../terminal/line.ts';
import type { AgentFiles } from '../agents/agent-files.ts';
import { watchedAgents } from '../agents/watched-agents.ts';
import type { DevLog } from '../log/dev-log.ts';
import { toldEnds } from '../log/log-run-ends.ts';
import { agentProcesses } from '../processes/agent-processes.ts';
import { invocations } from '../processes/invocations.ts';
import { invokingRuns } from '../processes/invoke-run.ts';
import type { Timing } from '../processes/timing.ts';
import { lookingFor } from './due-loop.ts';
import { tellingOf } from './local-notifier.ts';

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
  readonly count: number;
  /** Gets to know the agents, and begins to run what is ready; with `watch`, looks again at files that change. */
  start(options: Beginning): Promise<void>;
  /** Begins nothing more; what goes on may do so for a moment. */
  stop(): Promise<void>;
  /** Ends all processes at once. */
  kill(): void;
}

export function localRuntime(options: LocalRuntimeOptions): LocalRuntime {
  const { storage, tenant, log, timing, concurrency } = options;
  const runtime: Runtime = {
    contexts: contextsOn(storage, { tenant, types: ANY_TYPE }),
    clock: systemClock,
    chance: Math.random,
    deliver: async (delivery) => queue.deliver(delivery),
    log: logTo(log),
  };
  const loops: { poll?: Repeated; sweep?: Repeated } = {};
  const processes = agentProcesses(options.environment);
  const agents = watchedAgents({ processes, log, patienceMs: timing.silentMs, changed: () => void goOn() });
  const { files } = agents;
  const jobs = { ...options, clock: runtime.clock, processes, files };
  const ends = toldEnds(log, runtime.clock);
  const { invoke, tellUnloadable } = invokingRuns({ ...jobs, runtime, ends, asked: () => loops.sweep?.soon() });
  const failed = ({ run }: Delivery, error: unknown) =>
    runtime.log('error', 'An invocation could not begin; it is tried again later.', { run, error: String(error) });
  const queue = invocations({ concurrency, crashPauseMs: timing.crashPauseMs, invoke, failed });
  const telling = (agent: string | undefined) => tellingOf(jobs, agent);
  const look = lookingFor({
    ...{ runtime, files, queue, telling, log, leaseMs: timing.leaseMs, ends },
    tellUnloadable: (delivery) => void tellUnloadable(delivery).catch((error) => failed(delivery, error)),
  });

  /** What waited for other code, or had crashed, may go on with the code of now. */
  async function goOn(): Promise<void> {
    queue.hurry();
    await look.forReady({ parked: true }).catch((error) => log.server(styled('red', String(error))));
  }

  async function begin({ watch, known }: Beginning): Promise<void> {
    await agents.load(options.files, { watch });
    if (isStopping) return;
    await known?.();
    await look.forCutOff();
    if (isStopping) return;
    loops.poll = repeatedly(runtime, timing.pollMs, look.forReady);
    loops.sweep = repeatedly(runtime, timing.sweepMs, async () => {
      await look.atDue();
      await look.atEnded();
    });
  }

  let starting = Promise.resolve();
  let isStopping = false;
  return {
    runtime,
    files,
    get count() {
      return queue.count;
    },
    start(beginning) {
      starting = begin(beginning);
      return starting;
    },
    async stop() {
      isStopping = true;
      const looked = Promise.all([loops.poll?.stop(), loops.sweep?.stop()]);
      await queue.stop(timing.graceMs, processes.end);
      await Promise.all([looked, starting.catch(() => {})]);
      agents.close();
    },
    kill: () => processes.end(),
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
