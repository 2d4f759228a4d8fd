import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import type { RecordStore } from '../../storage/ports.ts';
import { readyRuns } from '../control/ready-runs.ts';
import { sweepDue } from '../control/sweep.ts';
import type { Delivery, Runtime } from '../runtime.ts';
import type { AnyAgent } from './agent.ts';
import { repeatedly } from './poll.ts';

export interface WorkerOptions {
  /** How often to look for runs that are ready. @default 250 milliseconds */
  readonly poll?: Duration;
  /** How often to look at what is due: timers, reminders, crashed runs. @default 1 second */
  readonly sweep?: Duration;
  /** How long an invocation may take before it yields. @default 15 minutes */
  readonly functionTimeout?: Duration;
  /** How many runs are driven at the same time. @default 10 */
  readonly concurrency?: number;
}

/** Agents that are being run. */
export interface Worker {
  /** Begins nothing more, and resolves when what was begun has ended, waits or yields. */
  stop(): Promise<void>;
}

/**
 * Runs agents in this process: for one machine, or a server that is always on. Any number of workers may share a
 * storage. On Lambda nobody needs it: there the table's stream brings runs to their functions.
 */
export function runAgents(agents: readonly AnyAgent[], options: WorkerOptions = {}): Worker {
  const {
    poll = { milliseconds: 250 },
    sweep = { seconds: 1 },
    functionTimeout = { minutes: 15 },
    concurrency = 10,
  } = options;
  if (!Array.isArray(agents as unknown)) throw invalidInput('`runAgents`', 'given a list of agents', agents);
  const known = new Map(agents.map((agent) => [agent.name, agent]));
  if (known.size < agents.length)
    throw invalidInput(
      'The names of agents',
      'different',
      agents.map(({ name }) => name),
    );
  const stopping = new AbortController();
  const under = new Map<string, Promise<void>>();
  const timeoutMs = toMilliseconds('`functionTimeout`', functionTimeout);

  const [first] = agents;
  if (!first) return { stop: async () => {} };
  const { clock, log } = first.runtime;

  async function deliver({ tenant, run, agent = '' }: Delivery): Promise<void> {
    const id = JSON.stringify([tenant, run]);
    const of = known.get(agent);
    if (!of || under.has(id) || under.size >= concurrency || stopping.signal.aborted) return;
    const by = `${process.pid} ${id} ${clock.now()}`;
    const claimant = { by, until: clock.now() + timeoutMs, leaseMs: WORKER_LEASE_MS };
    const invoked = of.invoke({ tenant, run }, claimant).then((outcome) => {
      if (outcome.end === 'failed') throw outcome.error;
    });
    const over = invoked.catch((error) =>
      log('error', 'An invocation failed; it is tried again later.', { run, error: String(error) }),
    );
    under.set(id, over.finally(() => under.delete(id)) as Promise<void>);
  }

  const lookForReady = async (agent: AnyAgent) => {
    const context = await agent.runtime.contexts.forTenant();
    for await (const delivery of readyRuns(context)) if (delivery.agent === agent.name) await deliver(delivery);
  };
  const sweeping = {
    canDeliver: ({ agent = '' }: Delivery) => known.has(agent) && under.size < concurrency,
    // Another worker may know the agent.
    notifierFor: (name = '') => (known.has(name) ? known.get(name)?.notifier : ('unknown' as const)),
  };
  const lookAtDue = async () => {
    for (const runtime of await runtimePerStorage(agents))
      await sweepDue({ runtime: { ...runtime, deliver }, ...sweeping });
  };

  const loops = [
    repeatedly(first.runtime, toMilliseconds('`poll`', poll), () => Promise.all(agents.map(lookForReady))),
    repeatedly(first.runtime, toMilliseconds('`sweep`', sweep), lookAtDue),
  ];
  return {
    async stop() {
      stopping.abort();
      await Promise.all([...loops.map((loop) => loop.stop()), ...under.values()]);
    },
  };
}

/** A worker can die at any moment; after this long another one takes over what it ran. */
export const WORKER_LEASE_MS = 15_000;

/** What agents run on, once for each storage. */
async function runtimePerStorage(agents: readonly AnyAgent[]): Promise<Iterable<Runtime>> {
  const runtimes = new Map<RecordStore, Runtime>();
  for (const { runtime } of agents) runtimes.set((await runtime.contexts.forTenant()).records, runtime);
  return runtimes.values();
}
