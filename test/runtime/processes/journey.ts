import { hasEnded } from '../../../lambda/core/status.ts';
import type { Delivery } from '../../../lambda/runtime/runtime.ts';
import { HOUR } from '../../faults/clock.ts';
import { APPROVERS } from './agents.ts';
import type { Answered, Command } from './commands.ts';
import type { SharedStorage } from './shared-storage.ts';
import type { Worker } from './worker.ts';
import type { WorkerPool } from './worker-pool.ts';

type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
type Order = Without<Command, 'now' | 'agent' | 'run'> & { readonly agent?: string; readonly run?: string };

const AGENT = 'trip';
export const INPUT = { cities: ['Berlin', 'Lima', 'Oslo'] };

export interface JourneyOptions {
  readonly run: string;
  /** Whether the process dies at this moment, the first being 1. */
  readonly dies: (moment: number) => boolean;
  /** How often, at most. @default as often as it says */
  readonly deaths?: number;
  /** Who brings a run back whose process died: Lambda at once under the same id, or the sweeper when the lease is over. */
  readonly again: 'lambda' | 'sweeper';
  /** When it begins. @default 2030-01-01 */
  readonly now?: number;
}

/**
 * One run from its start to its end. Everything that is done to it is done by processes that stand still at each moment
 * and die when they are told to; what is lost with them is only what they had not written.
 */
export class Journey {
  /** Where the processes were, in order. */
  readonly moments: string[] = [];
  /** The moments at which one died. */
  readonly deaths: string[] = [];
  worker: Worker;
  readonly #place: SharedStorage;
  readonly #crew: WorkerPool;
  readonly #options: JourneyOptions;
  readonly #queue: Delivery[] = [];
  #now: number;
  #invocations = 0;

  constructor(place: SharedStorage, crew: WorkerPool, worker: Worker, options: JourneyOptions) {
    this.#place = place;
    this.#crew = crew;
    this.worker = worker;
    this.#options = options;
    this.#now = options.now ?? Date.UTC(2030, 0, 1);
  }

  async travel(): Promise<void> {
    const { run } = this.#options;
    await this.#insist({ do: 'start', input: INPUT });
    let decided = false;
    let called = false;
    for (let round = 0; round < 200; round++) {
      const delivery = this.#queue.shift();
      if (delivery) {
        await this.#invoke(delivery);
        continue;
      }
      const handle = this.#place.agents(this.#now).get(AGENT)?.run(run);
      const status = await handle?.status();
      if (!handle || !status || hasEnded(status)) return;
      const [approval] = await handle.approvals();
      if (approval && !decided) {
        for (const by of APPROVERS.slice(0, 2))
          await this.#insist({ do: 'decide', approval: approval.id, by, answer: 'approve' });
        decided = true;
      } else if (status === 'WAITING_FOR_SIGNAL' && decided && !called) {
        await this.#insist({ do: 'signal', name: 'gate', value: 'B7', id: 'call' });
        called = true;
      } else {
        this.#now += 3 * HOUR;
        await this.#perform({ do: 'sweep' });
      }
    }
    throw new Error(`Run "${run}" does not come to an end: ${this.moments.join(', ')}`);
  }

  /** Does something until it is done, as a caller does who got no answer. */
  async #insist(order: Order): Promise<void> {
    while ((await this.#perform(order)) === 'died');
  }

  async #invoke({ run, agent = AGENT }: Delivery): Promise<void> {
    this.#invocations += 1;
    const order: Order = { do: 'invoke', run, agent, by: `invocation ${this.#invocations}`, seconds: 900 };
    if (this.#options.again === 'lambda') await this.#insist(order);
    else await this.#perform(order);
  }

  async #perform(order: Order): Promise<'died' | 'done'> {
    const { run, dies, deaths = Infinity } = this.#options;
    const held = this.deaths.length < deaths;
    this.worker.tell({ agent: AGENT, run, ...order, now: this.#now, held } as Command);
    for (;;) {
      const line = await this.worker.heard();
      if (!('moment' in line)) return this.#done(order, line);
      this.moments.push(`${order.do}: ${line.moment}`);
      if (dies(this.moments.length)) {
        this.deaths.push(this.moments.at(-1) ?? '');
        await this.#crew.kill(this.worker);
        this.worker = this.#crew.take();
        return 'died';
      }
      this.worker.go();
    }
  }

  #done(order: Order, answered: Answered): 'done' {
    if ('error' in answered) throw new Error(`"${order.do}" failed: ${answered.error}`);
    this.#queue.push(...answered.delivered);
    return 'done';
  }
}
