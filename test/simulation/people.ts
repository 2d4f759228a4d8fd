import { isWaitstateError } from '../../lambda/core/errors.ts';
import type { Chance } from './chance.ts';
import type { SentSignal } from './ledger.ts';
import { movesIn, type Program } from './program.ts';
import type { Task, Tasks } from './tasks.ts';
import type { World } from './world.ts';

const MINUTE = 60_000;

/** A run that will be started. */
export interface Planned {
  readonly id: string;
  readonly agent: string;
  readonly program: Program;
  readonly timeoutMs: number | undefined;
}

/** The people and programs that start, signal, cancel, retry and pause; each may crash and try again. */
export class People {
  readonly #world: World;
  readonly #tasks: Tasks;
  readonly #chance: Chance;

  constructor(world: World, tasks: Tasks) {
    this.#world = world;
    this.#tasks = tasks;
    this.#chance = world.chance;
  }

  start({ id, agent, program, timeoutMs }: Planned, after: number): void {
    const timeout = timeoutMs === undefined ? {} : { timeout: { milliseconds: timeoutMs } };
    this.#tasks.later(after, {
      name: 'starter',
      act: async (agents) => {
        await agents(agent).start(program, { id, ...timeout });
        this.#world.ledger.started.add(id);
      },
    });
  }

  /** Sends one signal for each wait of the program; each sender sends its signals one after the other. */
  signal(run: string, agent: string, program: Program, after: number, spreadMs = 5_000): void {
    const names = [...movesIn(program)].flatMap((move) => (move.do === 'signal' ? [move.name] : []));
    const senders = this.#chance.between(1, 2);
    const lists: SentSignal[][] = Array.from({ length: senders }, () => []);
    for (const [i, name] of names.entries()) {
      const sender = `sender ${i % senders} of ${run}`;
      const sent = {
        run,
        name,
        value: `${name} ${i}`,
        sender,
        confirmedAt: undefined,
        uncertain: false,
        refused: false,
      };
      lists[i % senders]?.push(sent);
      this.#world.ledger.signals.push(sent);
    }
    // Early signals are ordered by time. Two processes of a sender know it to the millisecond only if it is synchronized.
    for (const list of lists)
      this.#send(agent, list, after + this.#chance.between(0, spreadMs), this.#world.faults.smallSkew());
  }

  #send(agent: string, [sent, ...rest]: readonly SentSignal[], after: number, skewMs: number): void {
    if (!sent) return;
    const { run, name, value } = sent;
    const id = this.#chance.happens(0.8) ? value : undefined;
    const isSentTwice = id !== undefined && this.#chance.happens(0.2);
    const next = () =>
      this.#send(agent, rest, this.#chance.between(0, this.#chance.happens(0.5) ? 50 : 20 * MINUTE), skewMs);
    let refusals = 0;
    const act: Task['act'] = async (agents, _, attempt) => {
      if (id === undefined && attempt + refusals > 1) sent.uncertain = true;
      try {
        await agents(agent)
          .run(run)
          .signal(name, value, id === undefined ? {} : { id });
        const first = sent.confirmedAt === undefined;
        sent.confirmedAt ??= this.#world.timeline.now;
        if (first) next();
      } catch (error) {
        if (!isWaitstateError(error, 'RUN_ENDED')) throw error;
        // A failed run may still be fixed and retried.
        refusals += 1;
        const mayResume = refusals < (this.#world.ledger.retried.has(run) ? 20 : 4);
        if (mayResume) this.#tasks.later(20 * MINUTE, task);
        else sent.refused = true;
      }
    };
    const task = { name: 'sender', skewMs, act };
    this.#tasks.later(after, task);
    if (isSentTwice) this.#tasks.later(after + this.#chance.between(0, 100), task);
  }

  cancel(run: string, agent: string, after: number): void {
    this.#tasks.later(after, {
      name: 'canceller',
      act: async (agents) => {
        try {
          this.#world.ledger.cancels.set(run, await agents(agent).run(run).cancel('The simulation wants it.'));
        } catch (error) {
          // Not started yet: try again.
          if (!isWaitstateError(error, 'RUN_NOT_FOUND')) throw error;
          this.cancel(run, agent, 20_000);
        }
      },
    });
  }

  /** Fixes the cause of a failure and retries the run; at most once per run. */
  retry(run: string, agent: string): void {
    const { ledger } = this.#world;
    if (ledger.retried.has(run)) return;
    ledger.retried.add(run);
    this.#tasks.later(this.#chance.between(0, 10 * MINUTE), {
      name: 'fixer',
      act: async (agents) => {
        ledger.fixed.add(run);
        try {
          await agents(agent).run(run).retry();
        } catch (error) {
          // An earlier attempt of this task succeeded.
          if (!isWaitstateError(error, 'TRANSITION_REFUSED')) throw error;
        }
      },
    });
  }

  pause(agent: string, after: number): void {
    const unpause = () =>
      this.#tasks.later(this.#chance.between(10, 30) * MINUTE, {
        name: 'pauser',
        act: (agents) => agents(agent).unpause(),
      });
    this.#tasks.later(after, { name: 'pauser', act: (agents) => agents(agent).pause().then(unpause) });
  }
}
