import { type AgentContext, agent, type StartOptions } from '../lambda/index.ts';
import { type Costs, measureCounts, printCosts } from './costs.ts';
import type { Counts } from './counts.ts';
import { invoke, openRuntime } from './open-runtime.ts';
import { stepResult } from './runtime-steps.ts';
import { approvalCosts, childCosts, resumeCosts, signalCosts } from './waking-costs.ts';
import type { Wire } from './wire.ts';
import { RUN } from './works.ts';

export interface RuntimeCosts {
  /** Write units: a 3-step run, without anything and with owner and retention; an approval of one, and of three. */
  readonly threeSteps: number;
  readonly threeStepsFull: number;
  readonly approval: number;
  readonly approvalOfThree: number;
}

/** Prints what everything but the steps of a run costs: its start and end, waiting, waking, calling, resuming. */
export async function runtimeCosts(wire: Wire, resumes: readonly number[]): Promise<RuntimeCosts> {
  const plain = await threeSteps(wire, {});
  const full = await threeSteps(wire, { owner: 'ada', retentionSeconds: 86_400, tags: ['vip'], timeout: { days: 7 } });
  printCosts('A 3-step run of the runtime from start to end: started, claimed, three steps of 1 KB, SUCCEEDED.', {
    plain,
    'with owner, tag, retention and timeout': full,
  });
  printCosts('Ten steps of 1 KB side by side.', await parallel(wire));
  const one = await approvalCosts(wire, ['user:ann']);
  const three = await approvalCosts(wire, ['user:ann', 'user:bob', 'group:finance']);
  printCosts(
    'An approval, asked of one person: the write that suspends, the decision, and the claim that finds it.',
    one,
  );
  printCosts('The same, asked of two persons and a group, any of whom may decide.', three);
  printCosts('A signal to a run that waits for it, one more, and the claim that finds them.', await signalCosts(wire));
  printCosts('Another agent called as a child run that does nothing but return 1 KB.', await childCosts(wire));
  const resumed: Record<string, Counts> = {};
  for (const steps of resumes) resumed[`${steps.toLocaleString('en')} steps`] = await resumeCosts(wire, steps);
  printCosts('A resume in a new process: claim, hydrate and replay, up to the first new operation.', resumed);
  return {
    threeSteps: plain.writeUnits,
    threeStepsFull: full.writeUnits,
    approval: one.all?.writeUnits ?? Number.NaN,
    approvalOfThree: three.all?.writeUnits ?? Number.NaN,
  };
}

async function threeSteps(wire: Wire, options: StartOptions): Promise<Counts> {
  const trip = (await openRuntime(wire))(
    agent({
      name: 'trip',
      async run(ctx) {
        for (const n of [1, 2, 3]) await ctx.step(`step ${n}`, () => stepResult(n));
      },
    }),
  );
  return measureCounts(wire, async () => {
    await trip.start({ to: 'Lisbon' }, { id: RUN, ...options });
    await invoke(trip, 'finished');
  });
}

async function parallel(wire: Wire): Promise<Costs> {
  const items = Array.from({ length: 10 }, (_, n) => n);
  // Enough that no snapshot is due with the group that is counted.
  const before = Array.from({ length: 50 }, (_, n) => 100 + n);
  const ways = {
    'ctx.map': (ctx: AgentContext) =>
      ctx.map('searches', items, (branch, n) => branch.step('search', () => stepResult(n))),
    'Promise.all with keys': (ctx: AgentContext) =>
      Promise.all(items.map((n) => ctx.step('search', () => stepResult(n), { key: String(n) }))),
  };
  const costs: Record<string, Counts> = {};
  for (const [name, way] of Object.entries(ways)) {
    const searches = (await openRuntime(wire))(
      agent({
        name: 'searches',
        async run(ctx) {
          await ctx.map('before', before, (branch, n) => branch.step('search', () => stepResult(n)));
          costs[name] = await measureCounts(wire, () => way(ctx));
        },
      }),
    );
    await searches.start({}, { id: RUN });
    await invoke(searches, 'finished');
  }
  return costs;
}
