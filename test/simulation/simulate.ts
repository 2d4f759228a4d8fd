import { Approvers } from './approvers.ts';
import { checkApprovals } from './checks/approvals.ts';
import { readProgram, readRun } from './checks/history.ts';
import { checkEffects, checkSeen, checkSettled } from './checks/records.ts';
import { checkResult, checkUndone } from './checks/results.ts';
import { checkSignals } from './checks/signals.ts';
import { Deliveries } from './deliveries.ts';
import { People, type Planned } from './people.ts';
import { createProgram, movesIn } from './program.ts';
import { Sweeper } from './sweeper.ts';
import { Tasks } from './tasks.ts';
import { Watch } from './watch.ts';
import { Workers } from './workers.ts';
import { World, type WorldOptions } from './world.ts';

/** The result of a seed. */
export interface Simulated {
  readonly seed: number;
  /** The problems that were found. */
  readonly findings: readonly string[];
  readonly trace: readonly string[];
  /** How many events happened. */
  readonly eventCount: number;
}

const MAX_EVENTS = 40_000;
const MINUTE = 60_000;

/** Simulates one seed to its end and checks the stored runs. */
export async function simulate(seed: number, options: WorldOptions = {}): Promise<Simulated> {
  const world = new World(seed, options);
  const scene = new Scene(world);
  await scene.run();
  if (world.findings.length === 0) await scene.check();
  const { findings, trace = [], timeline } = world;
  return { seed, findings, trace, eventCount: timeline.eventCount };
}

/** The runs of a seed, with the people, functions and sweeper that act on them. */
class Scene {
  readonly #world: World;
  readonly #deliveries: Deliveries;
  readonly #tasks: Tasks;
  readonly #people: People;
  readonly #approvers: Approvers;
  readonly #fleet: Sweeper | Workers;
  readonly #watch: Watch;
  readonly #planned: readonly Planned[];
  readonly #cancelled = new Set<string>();

  constructor(world: World) {
    this.#world = world;
    const { chance } = world;
    const deliveries = new Deliveries(world);
    this.#deliveries = deliveries;
    this.#tasks = new Tasks(world, deliveries);
    this.#people = new People(world, this.#tasks);
    this.#approvers = new Approvers(world, this.#tasks);
    const fleet = world.delivery === 'workers' ? new Workers(world, deliveries) : new Sweeper(world, deliveries);
    this.#fleet = fleet;
    this.#planned = Array.from({ length: chance.happens(0.15) ? 2 : 1 }, (_, i) => ({
      id: `run-${i + 1}`,
      agent: chance.happens(0.7) ? 'programs' : 'turns',
      program: createProgram(chance),
      timeoutMs: chance.happens(0.1) ? chance.between(5, 120) * MINUTE : undefined,
    }));
    this.#watch = new Watch(world, deliveries, {
      started: (run, { agent = '', parent }) => {
        if (parent) this.#signalChild(run, agent);
      },
      ending: (run, { agent = '' }) => {
        if (chance.happens(0.3)) this.#cancel(run, agent, chance.between(0, chance.one([100, 30 * MINUTE])));
      },
      failed: (run, { agent = '' }) => {
        const planned = this.#planned.find(({ id }) => id === run);
        const broken =
          planned && [...movesIn(planned.program)].some((move) => move.do === 'step' && move.kind === 'broken');
        if (broken || (planned && chance.happens(0.1))) this.#people.retry(run, agent);
      },
      requested: (approval) => this.#approvers.decide(approval),
      notifiable: (approval) => {
        if (fleet instanceof Sweeper) fleet.notify(approval);
      },
    });
    world.onNotified = (notification) => this.#approvers.notified(notification);
    world.truth.onCommit = (writes, by) => this.#watch.see(writes, by);
  }

  async run(): Promise<void> {
    this.#plan();
    const { timeline, findings } = this.#world;
    while (findings.length === 0) {
      if (timeline.eventCount > MAX_EVENTS)
        return this.#world.addFinding(`the simulation did not end within ${MAX_EVENTS} events`);
      const { nextDue, nextWork } = this.#watch;
      const fleet = this.#fleet;
      const sweepAt = this.#isFinished ? undefined : fleet.next(fleet instanceof Workers ? nextWork : nextDue);
      if (sweepAt !== undefined && sweepAt <= (timeline.next ?? Infinity)) fleet.plan(sweepAt);
      if (timeline.next === undefined) break;
      await timeline.step();
      this.#deliveries.checkIdle();
    }
    if (findings.length === 0 && !this.#isFinished)
      this.#world.addFinding(`no event is left, but not all runs ended: ${this.#describeRuns()}`);
  }

  async check(): Promise<void> {
    const world = this.#world;
    for (const run of this.#watch.heads.keys()) {
      const ended = await readRun(world, run);
      if (!ended) continue;
      checkSettled(world, ended);
      checkSeen(world, ended);
      checkEffects(world, ended);
      checkResult(world, ended, this.#cancelled);
      checkUndone(world, ended);
      await checkApprovals(world, ended);
      await checkSignals(world, ended);
    }
  }

  get #isFinished(): boolean {
    const { started } = this.#world.ledger;
    return this.#tasks.pending === 0 && this.#planned.every(({ id }) => started.has(id)) && this.#watch.allEnded;
  }

  #plan(): void {
    const { chance, groups } = this.#world;
    groups.planChanges();
    for (const planned of this.#planned) {
      const { id, agent, program } = planned;
      const after = chance.between(0, 10_000);
      this.#world.note('plan', `${id} of ${agent}: ${JSON.stringify(program)}`);
      this.#people.start(planned, after);
      if (chance.happens(0.1)) this.#people.start(planned, after + chance.between(0, 50));
      const sent = chance.one([0, after - chance.between(-50, 50), after + chance.between(0, 60 * MINUTE)]);
      this.#people.signal(id, agent, program, sent, chance.one([0, 5_000]));
      if (chance.happens(0.25)) {
        const until = chance.one([500, 20_000, 120 * MINUTE]);
        this.#cancel(id, agent, after + Math.floor(chance.next() * until));
      }
      if (chance.happens(0.07)) this.#people.pause(agent, chance.between(0, 30 * MINUTE));
    }
  }

  #cancel(run: string, agent: string, after: number): void {
    this.#cancelled.add(run);
    this.#people.cancel(run, agent, after);
  }

  /** Signals a child run, whose program is read from storage because its parent started it. */
  #signalChild(run: string, agent: string): void {
    this.#world.timeline.after(500, async () => {
      const program = await readProgram(this.#world, run);
      this.#people.signal(run, agent, program, this.#world.chance.between(0, 30 * MINUTE));
    });
  }

  #describeRuns(): string {
    const runs = [...this.#watch.heads].map(([run, { status }]) => `${run} is ${status}`);
    return `${runs.join(', ') || 'no runs'}; ${this.#tasks.pending} tasks are pending`;
  }
}
