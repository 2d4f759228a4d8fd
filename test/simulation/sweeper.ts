import { isWaitstateError } from '../../lambda/core/errors.ts';
import { toPartition } from '../../lambda/core/ids.ts';
import { sweepDue } from '../../lambda/runtime/control/sweep.ts';
import type { ApprovalNotification } from '../../lambda/runtime/definition/approval-notification.ts';
import { approvalKey } from '../../lambda/storage/keys.ts';
import { agentsIn } from './agents.ts';
import { type Deliveries, describe } from './deliveries.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

const URL_BEGIN = 'https://approvals.test/';
const PERIOD_MS = 60_000;

/** Looks every minute at what is due. Minutes in which nothing is are left out. */
export class Sweeper {
  readonly #world: World;
  readonly #deliveries: Deliveries;
  #free = 0;
  #busy: Process | undefined;

  constructor(world: World, deliveries: Deliveries) {
    this.#world = world;
    this.#deliveries = deliveries;
  }

  /** When it next has something to do. */
  next(due: number | undefined): number | undefined {
    if (due === undefined || (this.#busy && !this.#busy.dead)) return undefined;
    return Math.ceil(Math.max(due, this.#free, this.#world.timeline.now) / PERIOD_MS) * PERIOD_MS;
  }

  plan(at: number): void {
    const process = this.#world.process('sweeper');
    this.#busy = process;
    this.#world.timeline.after(at - this.#world.timeline.now, () => this.#sweep(process));
  }

  async #sweep(process: Process): Promise<void> {
    const { timeline } = this.#world;
    this.#free = timeline.now + PERIOD_MS;
    const { runtime } = agentsIn(this.#world, process, this.#deliveries)('programs');
    const telling = () => ({ url: URL_BEGIN, notify: (notice: ApprovalNotification) => this.#tell(process, notice) });
    const deliver = this.#deliveries.from(process);
    sweepDue({ runtime: { ...runtime, deliver }, notifierFor: telling }).then(
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
      this.#world.wrong(`the sweep of ${run} failed: ${describe(error)}`);
  }

  /** Nobody is told of what is not stored. */
  async #tell(process: Process, { tenant, run, approval, kind, links }: ApprovalNotification): Promise<void> {
    this.#world.note(process, `tells people (${kind}) of ${approval} of ${run}`);
    const stored = await this.#world.truth.find(toPartition(tenant, run), approvalKey(approval));
    for (const { person, url } of links)
      this.#world.ledger.links.set(`${run} ${approval} ${person}`, url.slice(URL_BEGIN.length));
    if (!stored) this.#world.wrong(`people were told of ${approval} of run ${run}, which is not stored`);
  }
}
