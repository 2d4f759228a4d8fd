import { isWaitstateError } from '../../lambda/core/errors.ts';
import { toPartition } from '../../lambda/core/ids.ts';
import { sweepDue } from '../../lambda/runtime/control/sweep.ts';
import type { ApprovalNotification } from '../../lambda/runtime/definition/approval-notification.ts';
import { approvalKey } from '../../lambda/storage/keys.ts';
import { agentsIn } from './agents.ts';
import { type Deliveries, describeError } from './deliveries.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

const URL_PREFIX = 'https://approvals.test/';
const PERIOD_MS = 60_000;

/** Sweeps every minute in which something is due. */
export class Sweeper {
  readonly #world: World;
  readonly #deliveries: Deliveries;
  #freeAt = 0;
  #busy: Process | undefined;

  constructor(world: World, deliveries: Deliveries) {
    this.#world = world;
    this.#deliveries = deliveries;
  }

  /** The time of the next sweep. */
  next(due: number | undefined): number | undefined {
    if (due === undefined || (this.#busy && !this.#busy.dead)) return undefined;
    return Math.ceil(Math.max(due, this.#freeAt, this.#world.timeline.now) / PERIOD_MS) * PERIOD_MS;
  }

  plan(at: number): void {
    const process = this.#world.process('sweeper');
    this.#busy = process;
    this.#world.timeline.after(at - this.#world.timeline.now, () => this.#sweep(process));
  }

  async #sweep(process: Process): Promise<void> {
    const { timeline } = this.#world;
    this.#freeAt = timeline.now + PERIOD_MS;
    const { runtime } = agentsIn(this.#world, process, this.#deliveries)('programs');
    const notifierFor = () => ({
      url: URL_PREFIX,
      notify: (notification: ApprovalNotification) => this.#notify(process, notification),
    });
    const deliver = this.#deliveries.from(process);
    sweepDue({ runtime: { ...runtime, deliver }, notifierFor }).then(
      ({ failed }) => {
        this.#busy = undefined;
        for (const { run, error } of failed) this.#failed(run, error);
      },
      (error) => {
        this.#busy = undefined;
        this.#failed('everything', error);
      },
    );
  }

  #failed(run: string, error: unknown): void {
    if (!isWaitstateError(error, 'STORAGE_UNAVAILABLE'))
      this.#world.addFinding(`the sweep of ${run} failed: ${describeError(error)}`);
  }

  /** Checks that only stored approvals lead to notifications. */
  async #notify(process: Process, { tenant, run, approval, kind, links }: ApprovalNotification): Promise<void> {
    this.#world.note(process, `notifies (${kind}) approvers of ${approval} of ${run}`);
    const stored = await this.#world.truth.find(toPartition(tenant, run), approvalKey(approval));
    for (const { person, url } of links)
      this.#world.ledger.links.set(`${run} ${approval} ${person}`, url.slice(URL_PREFIX.length));
    if (!stored) this.#world.addFinding(`a notification was sent for ${approval} of run ${run}, which is not stored`);
  }
}
