import { type AgentContext, agent, type StartOptions } from '../lambda/index.ts';
import { type Costs, measureCounts, printCosts } from './costs.ts';
import { type Counts, dynamoRequests, NO_COUNTS } from './counts.ts';
import { invoke, openRuntime } from './open-runtime.ts';
import { stepResult } from './runtime-steps.ts';
import { approvalCosts, approvalLinkCosts, childCosts, resumeCosts, signalCosts, WEBHOOK } from './waking-costs.ts';
import type { Wire } from './wire.ts';
import { RUN } from './works.ts';

/** Write units of a 3-step run, without options and with owner and retention, and of an approval with one and three approvers. */
export interface RuntimeCosts {
  readonly threeSteps: number;
  readonly threeStepsFull: number;
  readonly approval: number;
  readonly approvalOfThree: number;
  /** DynamoDB requests of `POST /approvals/{token}`. */
  readonly webhookRequests: number;
}

/** Prints the cost of everything in a run except single steps: start, end, approvals, signals, child runs and resumes. */
export async function runtimeCosts(wire: Wire, resumes: readonly number[]): Promise<RuntimeCosts> {
  const plain = await threeSteps(wire, {});
  const full = await threeSteps(wire, { owner: 'ada', retention: { days: 1 }, tags: ['vip'], timeout: { days: 7 } });
  printCosts('A 3-step run of the runtime from start to end: started, claimed, three steps of 1 KB, SUCCEEDED.', {
    plain,
    'with owner, tag, retention and timeout': full,
  });
  printCosts('Ten steps of 1 KB in parallel.', await parallelCosts(wire));
  const one = await approvalCosts(wire, ['user:ann']);
  const three = await approvalCosts(wire, ['user:ann', 'user:bob', 'group:finance']);
  printCosts(
    'An approval with one approver: the write that suspends the run, the decision, and the claim that reads it.',
    one,
  );
  printCosts('The same with two people and a group as approvers; one decision is enough.', three);
  const links = await approvalLinkCosts(wire);
  printCosts('An approval link over HTTP, each request in a new process: look, decide, and look again.', links);
  printCosts(
    'A signal to a run that waits for it, another one, and the claim that reads them.',
    await signalCosts(wire),
  );
  printCosts('A child run that only returns 1 KB.', await childCosts(wire));
  const resumed: Record<string, Counts> = {};
  for (const steps of resumes) resumed[`${steps.toLocaleString('en')} steps`] = await resumeCosts(wire, steps);
  printCosts('A resume in a new process: claim, hydrate and replay, up to the first new operation.', resumed);
  return {
    threeSteps: plain.writeUnits,
    threeStepsFull: full.writeUnits,
    approval: one.all?.writeUnits ?? Number.NaN,
    approvalOfThree: three.all?.writeUnits ?? Number.NaN,
    webhookRequests: dynamoRequests(links[WEBHOOK] ?? NO_COUNTS),
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

async function parallelCosts(wire: Wire): Promise<Costs> {
  const items = Array.from({ length: 10 }, (_, n) => n);
  // Enough steps that no snapshot is written while the group is counted.
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
