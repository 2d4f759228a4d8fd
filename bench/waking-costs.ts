import { agent, sweepDue } from '../lambda/index.ts';
import type { Costs } from './costs.ts';
import { addCounts, type Counts, countsSince, NO_COUNTS } from './counts.ts';
import { invoke, openRuntime } from './open-runtime.ts';
import { stepResult } from './runtime-steps.ts';
import type { Wire } from './wire.ts';
import { RUN } from './works.ts';

/** Counts from one point of a story to the next, some of them inside of an agent, which a replay passes again. */
function laps(wire: Wire) {
  let last: Counts | undefined;
  return {
    /** The first point. */
    async begin() {
      last ??= await wire.counts();
    },
    /** What was counted since the point before. */
    async lap(): Promise<Counts> {
      const before = last ?? NO_COUNTS;
      last = await wire.counts();
      return countsSince(before, last);
    },
  };
}

const sum = (...counts: readonly Counts[]): Counts => counts.reduce(addCounts, NO_COUNTS);

/** Asking, deciding, and the claim that finds it; notifier people is counted apart. */
export async function approvalCosts(wire: Wire, approvers: readonly string[]): Promise<Costs> {
  const open = await openRuntime(wire);
  const { begin, lap } = laps(wire);
  let claim = NO_COUNTS;
  const refunds = agent({
    name: 'refunds',
    async run(ctx) {
      await ctx.step('find order', () => ({ id: 'o-17', customer: 'Ada' }));
      await begin();
      await ctx.approval('refund', {
        title: 'Refund $120.00 to Ada?',
        show: { order: 'o-17', amount: 120, currency: 'USD', reason: 'The parcel came late.' },
        approvers,
        timeout: { days: 3 },
      });
      claim = await lap();
    },
  });
  const first = open(refunds);
  await first.start({ orderId: 'o-17' }, { id: RUN });
  await invoke(first, 'suspended');
  const suspend = await lap();
  const notifier = () => ({ url: 'https://approvals.example.com/', notify: async () => {} });
  await sweepDue({ runtime: open(refunds).runtime, notifierFor: notifier });
  const tell = await lap();
  await open(refunds).run(RUN).decide({ approval: 'refund', by: 'user:ann', answer: 'approve' });
  const decide = await lap();
  await invoke(open(refunds), 'finished');
  return { suspend, decide, claim, all: sum(suspend, decide, claim), 'notifier people, by a sweep': tell };
}

/** Signals to a run that waits. */
export async function signalCosts(wire: Wire): Promise<Costs> {
  const open = await openRuntime(wire);
  const { begin, lap } = laps(wire);
  let claim = NO_COUNTS;
  const orders = agent({
    name: 'orders',
    async run(ctx) {
      await ctx.step('order', () => 'o-17');
      await begin();
      await ctx.waitForSignal('paid', { timeout: { days: 3 } });
      claim = await lap();
    },
  });
  const first = open(orders);
  await first.start({}, { id: RUN });
  await invoke(first, 'suspended');
  const suspend = await lap();
  await open(orders).run(RUN).signal('paid', { amount: 120 });
  const waking = await lap();
  await open(orders).run(RUN).signal('paid', { amount: 120 });
  const further = await lap();
  await open(orders).run(RUN).signal('paid', { amount: 120 }, { id: 'payment-0017' });
  const withId = await lap();
  await invoke(open(orders), 'finished');
  return { suspend, 'signal that wakes': waking, 'one more': further, 'one more, with an id': withId, claim };
}

/** Another agent called as a child run. */
export async function childCosts(wire: Wire): Promise<Costs> {
  const open = await openRuntime(wire);
  const { begin, lap } = laps(wire);
  const id = `${RUN.slice(0, -1)}b`;
  let claim = NO_COUNTS;
  const called = agent({ name: 'called', run: () => stepResult(1) });
  const calling = agent({
    name: 'calling',
    async run(ctx) {
      await ctx.step('begin', () => 0);
      await begin();
      await ctx.call(called, {}, { id });
      claim = await lap();
    },
  });
  const first = open(calling);
  await first.start({}, { id: RUN });
  await invoke(first, 'suspended');
  const start = await lap();
  await invoke(open(called), 'finished', id);
  const run = await lap();
  await invoke(open(calling), 'finished');
  return { 'start and suspend': start, 'claim and end of the child': run, claim, all: sum(start, run, claim) };
}

/** Going on with a run of so many steps in a new process. */
export async function resumeCosts(wire: Wire, steps: number): Promise<Counts> {
  const open = await openRuntime(wire);
  const { begin, lap } = laps(wire);
  let claim = NO_COUNTS;
  const long = waitingAgent(steps, async () => {
    claim = await lap();
  });
  const first = open(long);
  await first.start({}, { id: RUN });
  await invoke(first, 'suspended');
  await open(long).run(RUN).signal('go');
  await begin();
  await invoke(open(long), 'finished');
  return claim;
}

/** An agent that does some steps, waits for a signal, and says when it got it. */
export const waitingAgent = (steps: number, resumed?: () => Promise<void>) =>
  agent({
    name: 'waiting',
    async run(ctx) {
      for (let n = 1; n <= steps; n++) await ctx.step('call tool', () => stepResult(n));
      await ctx.waitForSignal('go', { timeout: { days: 3 } });
      await resumed?.();
    },
  });
