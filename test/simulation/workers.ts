import { isWaitstateError } from '../../lambda/core/errors.ts';
import type { AnyAgent, InvokeResult } from '../../lambda/runtime/agent/agent.ts';
import { poll } from '../../lambda/runtime/agent/poll.ts';
import { runAgents, WORKER_LEASE_MS } from '../../lambda/runtime/agent/worker.ts';
import type { Clock } from '../../lambda/runtime/clock.ts';
import { sweepDue } from '../../lambda/runtime/control/sweep.ts';
import type { Log } from '../../lambda/runtime/runtime.ts';
import { AGENTS, agentsIn } from './agents.ts';
import { type Deliveries, describeError } from './deliveries.ts';
import { MailError } from './hooks.ts';
import type { Invocation, Process } from './process.ts';
import type { World } from './world.ts';

const MINUTE = 60_000;

/** A poll that waits for something to do. */
interface ParkedPoll {
  readonly process: Process;
  /** When the worker polls again although nothing has changed. */
  readonly latest: number;
  readonly news: number;
  resume(): void;
}

/** Workers that poll, each with some of the agents. They crash or stop, and start again later. */
export class Workers {
  readonly #world: World;
  readonly #deliveries: Deliveries;
  readonly #parked = new Set<ParkedPoll>();
  readonly #pollMs: number;
  readonly #sweepMs: number;
  #isPlanned = false;

  constructor(world: World, deliveries: Deliveries) {
    this.#world = world;
    this.#deliveries = deliveries;
    const { chance } = world;
    this.#pollMs = chance.one([1_009, 9_001, 30_011]);
    this.#sweepMs = chance.one([1_013, 9_007, 60_013]);
    const sets: (readonly string[])[] = AGENTS.map((agent) => [agent]);
    if (chance.happens(0.5)) sets.push(chance.one([['programs'], ['turns'], AGENTS]));
    for (const agents of sets)
      world.timeline.after(chance.happens(0.7) ? chance.between(0, 5_000) : chance.between(0, 120 * MINUTE), () =>
        this.#launch(agents),
      );
  }

  /** When polls resume: when something is due or has changed, because a poll that finds nothing has no effect. */
  next(due: number | undefined): number | undefined {
    if (due === undefined || this.#isPlanned) return undefined;
    const { now } = this.#world.timeline;
    let next = Infinity;
    for (const { news, latest, process } of this.#parked)
      if (!process.dead) next = Math.min(next, Math.max(due, now, news === this.#news ? latest : now));
    return next === Infinity ? undefined : next;
  }

  plan(at: number): void {
    const { timeline } = this.#world;
    this.#isPlanned = true;
    timeline.after(at - timeline.now, () => {
      this.#isPlanned = false;
      for (const poll of [...this.#parked]) if (poll.news !== this.#news || poll.latest <= timeline.now) poll.resume();
    });
  }

  get #news(): number {
    return this.#world.truth.log.length;
  }

  #launch(names: readonly string[], skewMs?: number): void {
    const world = this.#world;
    const { chance, timeline, notifications } = world;
    const process = world.process('worker', skewMs);
    process.knows = (agent) => names.includes(agent);
    const agents = agentsIn(world, process, this.#deliveries);
    world.note(process, `starts with ${names.join(' and ')}`);
    const launchAgain = () => {
      notifications.remove(process);
      timeline.after(chance.between(1_000, chance.one([5_000, 30 * MINUTE])), () =>
        // An operator synchronizes a clock that keeps a worker from working.
        this.#launch(names, process.canSweep ? undefined : world.faults.smallSkew()),
      );
    };
    process.onDeath.add(launchAgain);
    notifications.add(process, names);
    const clock = this.#pollingClock(process);
    const running = names.map((name) => this.#observe(process, agents(name), clock));
    const worker = runAgents(running, {
      poll: { milliseconds: this.#pollMs },
      sweep: { milliseconds: this.#sweepMs },
      functionTimeout: { milliseconds: world.functionMs },
      concurrency: chance.one([1, 10]),
    });
    if (world.truth.broken.postponesNotifications) this.#postponeNotifications(process, running, clock);
    if (process.canSweep && !chance.happens(0.4)) return;
    timeline.after(chance.between(MINUTE, (process.canSweep ? 180 : 20) * MINUTE), () => {
      if (process.dead) return;
      const crashes = chance.happens(0.5);
      world.note(process, crashes ? 'crashes' : 'stops');
      if (crashes) return process.die();
      notifications.remove(process);
      void worker.stop().then(() => {
        if (process.dead) return;
        process.onDeath.delete(launchAgain);
        launchAgain();
      });
    });
  }

  /** The agent with invocations that the checks know, and a clock for polls. */
  #observe(process: Process, agent: AnyAgent, clock: Clock): AnyAgent {
    const world = this.#world;
    const log: Log = (level, message, { error }) => {
      if (process.dead) return;
      world.note(process, `logs ${level}: ${message} ${error ?? ''}`);
      if (level === 'error' && error !== undefined && !EXPECTED.test(String(error)))
        world.addFinding(`${process.name} logs: ${message} ${String(error)}`);
    };
    return {
      ...agent,
      runtime: { ...agent.runtime, clock, log },
      invoke: async (delivery, claimant) => {
        const { run } = delivery;
        const deadline = claimant.until;
        const invocation: Invocation = { process, deadline, leaseMs: WORKER_LEASE_MS, isDisturbed: false };
        process.invocations.set(run, invocation);
        world.ledger.invocations.set(claimant.by, invocation);
        world.note(process, `claims ${run} as ${claimant.by}`);
        const end = await agent
          .invoke(delivery, claimant)
          .catch((error): InvokeResult => ({ end: 'failed', error }))
          .finally(() => process.invocations.delete(run));
        if (process.dead) return end;
        world.note(process, `ends ${run}: ${'reason' in end ? end.reason : 'status' in end ? end.status : end.end}`);
        if (end.end === 'failed' && !isWaitstateError(end.error, 'STORAGE_UNAVAILABLE'))
          world.addFinding(`an invocation of ${run} failed: ${describeError(end.error)}`);
        return end;
      },
    };
  }

  /** A clock on which the pause between two polls lasts until there may be something to do. */
  #pollingClock(process: Process): Clock {
    return {
      now: () => process.clock.now(),
      sleep: async (milliseconds, signal) => {
        await process.clock.sleep(milliseconds, signal, true);
        const isPause = milliseconds === this.#pollMs || milliseconds === this.#sweepMs;
        if (isPause) await this.#park(process, Math.max(0, MINUTE - milliseconds), signal);
      },
    };
  }

  #park(process: Process, maxMs: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      this.#parked.delete(parked);
      signal?.removeEventListener('abort', stop);
    };
    const stop = () => {
      leave();
      reject(signal?.reason);
    };
    const parked: ParkedPoll = {
      process,
      news: this.#news,
      latest: this.#world.timeline.now + maxMs,
      resume: () => {
        leave();
        process.afterDelay(0, resolve);
      },
    };
    this.#parked.add(parked);
    signal?.addEventListener('abort', stop);
    return promise;
  }

  /** Does what workers once did: attempts the notifications of agents that this worker does not have. */
  #postponeNotifications(process: Process, agents: readonly AnyAgent[], clock: Clock): void {
    const [first] = agents;
    if (!first) return;
    const notify = () => Promise.reject(new MailError('This worker does not have the agent.'));
    const notifierFor = (agent = '') => (process.knows(agent) ? ('unknown' as const) : { notify });
    const { deliver: _deliver, ...runtime } = first.runtime;
    const sweep = () => sweepDue({ runtime, notifierFor, canDeliver: () => false });
    poll({ clock, log: first.runtime.log }, this.#sweepMs, sweep);
  }
}

/** Errors that faults lead to. */
const EXPECTED = /as the simulation wanted/;
