import { toRunContext } from '../../lambda/checkpoints/derived-contexts.ts';
import { isWaitstateError } from '../../lambda/core/errors.ts';
import { processDueApproval } from '../../lambda/runtime/approvals/due.ts';
import { sweepDue } from '../../lambda/runtime/control/sweep.ts';
import { AGENTS, type Agents, agentsIn } from './agents.ts';
import type { RequestedApproval } from './approvers.ts';
import { type Deliveries, describeError } from './deliveries.ts';
import { MailError } from './hooks.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

const PERIOD_MS = 60_000;

interface Container {
  readonly process: Process;
  readonly agents: Agents;
}

/** The functions that sweep every minute in which something is due, and that notify approvers. */
export class Sweeper {
  readonly #world: World;
  readonly #deliveries: Deliveries;
  /** Stands for the schedule: disturbed when a sweep could not do its work. */
  readonly #schedule: Process;
  #freeAt = 0;
  #warm: Container | undefined;
  #busy: Process | undefined;

  constructor(world: World, deliveries: Deliveries) {
    this.#world = world;
    this.#deliveries = deliveries;
    this.#schedule = world.process('schedule', 0);
    world.notifications.add(this.#schedule, AGENTS);
  }

  /** The time of the next sweep, if something is due at this time. */
  next(due: number | undefined): number | undefined {
    if (due === undefined || (this.#busy && !this.#busy.dead)) return undefined;
    return Math.ceil(Math.max(due, this.#freeAt, this.#world.timeline.now) / PERIOD_MS) * PERIOD_MS;
  }

  plan(at: number): void {
    const warm = this.#world.chance.happens(0.7) && this.#warm?.process.dead === false ? this.#warm : undefined;
    const container = warm ?? this.#container('sweeper');
    this.#warm = container;
    this.#busy = container.process;
    this.#world.timeline.after(at - this.#world.timeline.now, () => this.#sweep(container, warm === undefined));
  }

  /** Notifies approvers as the function does that the table's stream invokes. */
  notify({ run, approval, agent }: RequestedApproval): void {
    const { timeline, chance, faults, delivery } = this.#world;
    if (delivery !== 'stream' || faults.losesDelivery()) return;
    timeline.after(chance.between(1, 1_000), async () => {
      const { process, agents } = this.#container('notifier');
      const { runtime, notifier } = agents(agent);
      const at = toRunContext(await runtime.contexts.forTenant(), runtime.contexts.tenant, run);
      this.#world.note(process, `is invoked for ${approval} of ${run}`);
      processDueApproval(at, approval, notifier).catch((error) => this.#failed(run, error));
    });
  }

  #container(name: string): Container {
    const process = this.#world.process(name);
    return { process, agents: agentsIn(this.#world, process, this.#deliveries) };
  }

  #sweep({ process, agents }: Container, isCold: boolean): void {
    const { timeline, notifications } = this.#world;
    this.#freeAt = timeline.now + PERIOD_MS;
    const ended = () => {
      process.onDeath.delete(ended);
      notifications.remove(process);
      if (this.#busy === process) this.#busy = undefined;
      // A cold process learns the time from its first response, which is the list of what is due.
      if (process.dead || (isCold && process.skewMs < 0) || !process.canSweep) this.#schedule.disturb();
    };
    process.onDeath.add(ended);
    notifications.add(process, AGENTS);
    const notifierFor = (agent = '') => agents(agent).notifier;
    sweepDue({ runtime: { ...agents('programs').runtime, deliver: this.#deliveries.from(process) }, notifierFor })
      .then(
        ({ failed }) => {
          for (const { run, error } of failed) this.#failed(run, error);
        },
        (error) => this.#failed('everything', error),
      )
      .then(ended);
  }

  #failed(run: string, error: unknown): void {
    if (!isWaitstateError(error, 'STORAGE_UNAVAILABLE') && !(error instanceof MailError))
      this.#world.addFinding(`the sweep of ${run} failed: ${describeError(error)}`);
  }
}
