import { randomBytes } from 'node:crypto';
import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import type { RecordStore } from '../../storage/ports.ts';
import { isClockWrong } from '../clock-difference.ts';
import { readyRuns } from '../control/ready-runs.ts';
import type { Delivery, Runtime } from '../runtime.ts';
import type { AnyAgent } from './agent.ts';
import { poll } from './poll.ts';

/** Options of `runAgents`. */
export interface WorkerOptions {
  /** How often to look for READY runs. @default 250 milliseconds */
  readonly poll?: Duration;
  /** How often to sweep: timers, reminders and crashed runs that are due. @default 1 second */
  readonly sweep?: Duration;
  /** How long an invocation may take before it yields. @default 15 minutes */
  readonly functionTimeout?: Duration;
  /** How many runs may execute at the same time. @default 10 */
  readonly concurrency?: number;
}

/** A process loop that runs agents. */
export interface Worker {
  /** Claims no further run, and resolves when every claimed run has ended, suspended or yielded. */
  stop(): Promise<void>;
}

/**
 * Runs agents in this process, for one machine or a server that is always on. Any number of workers can share a
 * storage. Not needed on Lambda, where the table's stream delivers runs to their functions.
 */
export function runAgents(agents: readonly AnyAgent[], options: WorkerOptions = {}): Worker {
  const {
    poll: pollInterval = { milliseconds: 250 },
    sweep: sweepInterval = { seconds: 1 },
    functionTimeout = { minutes: 15 },
    concurrency = 10,
  } = options;
  if (!Array.isArray(agents as unknown)) throw invalidInput('`runAgents`', 'given a list of agents', agents);
  const agentsByName = new Map(agents.map((agent) => [agent.name, agent]));
  if (agentsByName.size < agents.length)
    throw invalidInput(
      'The names of agents',
      'different',
      agents.map(({ name }) => name),
    );
  const stopping = new AbortController();
  const inFlight = new Map<string, Promise<void>>();
  const timeoutMs = toMilliseconds('`functionTimeout`', functionTimeout);

  const [first] = agents;
  if (!first) return { stop: async () => {} };
  const { clock, log } = first.runtime;
  // In containers, workers often have the same process id.
  const worker = `${process.pid} ${randomBytes(6).toString('base64url')}`;

  async function deliver({ tenant, run, agent = '' }: Delivery): Promise<void> {
    const id = JSON.stringify([tenant, run]);
    const agentToRun = agentsByName.get(agent);
    if (!agentToRun || inFlight.has(id) || inFlight.size >= concurrency || stopping.signal.aborted) return;
    const by = `${worker} ${id} ${clock.now()}`;
    const claimant = { by, until: clock.now() + timeoutMs, lease: { milliseconds: WORKER_LEASE_MS } };
    const invoked = agentToRun.invoke({ tenant, run }, claimant).then((outcome) => {
      if (outcome.end === 'failed') throw outcome.error;
    });
    const settled = invoked.catch((error) =>
      log('error', 'An invocation failed; it will be retried.', { run, error: String(error) }),
    );
    inFlight.set(id, settled.finally(() => inFlight.delete(id)) as Promise<void>);
  }

  const deliverReady = async (agent: AnyAgent) => {
    const context = await agent.runtime.contexts.forTenant();
    for await (const delivery of readyRuns(context))
      if (delivery.agent === agent.name && !isClockWrong(context)) await deliver(delivery);
  };
  const sweepOptions = {
    canDeliver: ({ agent = '' }: Delivery) => agentsByName.has(agent) && inFlight.size < concurrency,
    // Another worker may have the agent, so approvals of an unknown agent are left to it.
    notifierFor: (name = '') => (agentsByName.has(name) ? agentsByName.get(name)?.notifier : ('unknown' as const)),
  };
  const sweepAll = async () => {
    const { sweepDue } = await import('../control/sweep.ts');
    for (const runtime of await runtimePerStorage(agents)) {
      const { failed } = await sweepDue({ runtime: { ...runtime, deliver }, ...sweepOptions });
      for (const { tenant, run, error } of failed)
        log('error', 'A run could not be swept. The next sweep retries it.', { tenant, run, error: String(error) });
    }
  };

  const loops = [
    poll(first.runtime, toMilliseconds('`poll`', pollInterval), () => Promise.all(agents.map(deliverReady))),
    poll(first.runtime, toMilliseconds('`sweep`', sweepInterval), sweepAll),
  ];
  return {
    async stop() {
      stopping.abort();
      await Promise.all([...loops.map((loop) => loop.stop()), ...inFlight.values()]);
    },
  };
}

/** The lease of a worker's runs: when a worker crashes, another one takes over its runs after this time. */
export const WORKER_LEASE_MS = 15_000;

/** One runtime for each storage that the agents use. */
async function runtimePerStorage(agents: readonly AnyAgent[]): Promise<Iterable<Runtime>> {
  const runtimes = new Map<RecordStore, Runtime>();
  for (const { runtime } of agents) runtimes.set((await runtime.contexts.forTenant()).records, runtime);
  return runtimes.values();
}
