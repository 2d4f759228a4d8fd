import { hasEnded } from '../../../lambda/core/status.ts';
import type { Delivery } from '../../../lambda/runtime/runtime.ts';
import { HOUR } from '../../faults/clock.ts';
import { APPROVERS } from './agents.ts';
import type { Command, CommandOutcome } from './commands.ts';
import type { SharedStorage } from './shared-storage.ts';
import type { Worker } from './worker.ts';
import type { WorkerPool } from './worker-pool.ts';

type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
type Order = Without<Command, 'now' | 'agent' | 'run'> & { readonly agent?: string; readonly run?: string };

const AGENT = 'trip';
export const INPUT = { cities: ['Berlin', 'Lima', 'Oslo'] };

export interface JourneyOptions {
  readonly run: string;
  /** Whether the process is killed at this moment, counted from 1. */
  readonly dies: (moment: number) => boolean;
  /** The maximum number of kills. @default no limit */
  readonly deaths?: number;
  /** Who delivers a run again whose process was killed: Lambda under the same id, or the sweeper after the lease. */
  readonly again: 'lambda' | 'sweeper';
  /** The start time. @default 2030-01-01 */
  readonly now?: number;
}

/**
 * One run from start to end. Every action on it is performed by processes that pause at each moment and can be killed
 * there; a killed process loses only what it had not written.
 */
export class Journey {
  /** The moments that the processes reached, in order. */
  readonly moments: string[] = [];
  /** The moments at which a process was killed. */
  readonly deaths: string[] = [];
  worker: Worker;
  readonly #shared: SharedStorage;
  readonly #pool: WorkerPool;
  readonly #options: JourneyOptions;
  readonly #queue: Delivery[] = [];
  #now: number;
  #invocations = 0;

  constructor(shared: SharedStorage, pool: WorkerPool, worker: Worker, options: JourneyOptions) {
    this.#shared = shared;
    this.#pool = pool;
    this.worker = worker;
    this.#options = options;
    this.#now = options.now ?? Date.UTC(2030, 0, 1);
  }

  async travel(): Promise<void> {
    const { run } = this.#options;
    await this.#performUntilDone({ do: 'start', input: INPUT });
    let decided = false;
    let called = false;
    for (let round = 0; round < 200; round++) {
      const delivery = this.#queue.shift();
      if (delivery) {
        await this.#invoke(delivery);
        continue;
      }
      const handle = this.#shared.agents(this.#now).get(AGENT)?.run(run);
      const status = await handle?.status();
      if (!handle || !status || hasEnded(status)) return;
      const [approval] = await handle.approvals();
      if (approval && !decided) {
        for (const by of APPROVERS.slice(0, 2))
          await this.#performUntilDone({ do: 'decide', approval: approval.id, by, answer: 'approve' });
        decided = true;
      } else if (status === 'WAITING_FOR_SIGNAL' && decided && !called) {
        await this.#performUntilDone({ do: 'signal', name: 'gate', value: 'B7', id: 'call' });
        called = true;
      } else {
        this.#now += 3 * HOUR;
        await this.#perform({ do: 'sweep' });
      }
    }
    throw new Error(`Run "${run}" does not end: ${this.moments.join(', ')}`);
  }

  /** Repeats a command until a process completes it, as a caller without a response does. */
  async #performUntilDone(order: Order): Promise<void> {
    while ((await this.#perform(order)) === 'died');
  }

  async #invoke({ run, agent = AGENT }: Delivery): Promise<void> {
    this.#invocations += 1;
    const order: Order = { do: 'invoke', run, agent, by: `invocation ${this.#invocations}`, seconds: 900 };
    if (this.#options.again === 'lambda') await this.#performUntilDone(order);
    else await this.#perform(order);
  }

  async #perform(order: Order): Promise<'died' | 'done'> {
    const { run, dies, deaths = Infinity } = this.#options;
    const held = this.deaths.length < deaths;
    this.worker.send({ agent: AGENT, run, ...order, now: this.#now, held } as Command);
    for (;;) {
      const line = await this.worker.nextLine();
      if (!('moment' in line)) return this.#done(order, line);
      this.moments.push(`${order.do}: ${line.moment}`);
      if (dies(this.moments.length)) {
        this.deaths.push(this.moments.at(-1) ?? '');
        await this.#pool.kill(this.worker);
        this.worker = this.#pool.take();
        return 'died';
      }
      this.worker.resume();
    }
  }

  #done(order: Order, outcome: CommandOutcome): 'done' {
    if ('error' in outcome) throw new Error(`"${order.do}" failed: ${outcome.error}`);
    this.#queue.push(...outcome.delivered);
    return 'done';
  }
}
