import { createApi } from '../lambda/api/app.ts';
import { type Approver, agent } from '../lambda/index.ts';
import { sweepDue } from '../lambda/runtime.ts';
import { type Costs, measureCounts } from './costs.ts';
import { addCounts, type Counts, countsSince, NO_COUNTS } from './counts.ts';
import { invoke, openRuntime } from './open-runtime.ts';
import { stepResult } from './runtime-steps.ts';
import type { Wire } from './wire.ts';
import { RUN } from './works.ts';

/** Counts from one point in a run to the next. A point may be inside an agent, where a replay passes it again. */
function createLapCounter(wire: Wire) {
  let last: Counts | undefined;
  return {
    /** Starts counting; later calls do nothing. */
    async begin() {
      last ??= await wire.counts();
    },
    /** Returns the counts since the last point. */
    async lap(): Promise<Counts> {
      const before = last ?? NO_COUNTS;
      last = await wire.counts();
      return countsSince(before, last);
    },
  };
}

const sum = (...counts: readonly Counts[]): Counts => counts.reduce(addCounts, NO_COUNTS);

/** The cost of an approval: suspending, deciding, and the claim that reads the decision. Notifying is counted separately. */
export async function approvalCosts(wire: Wire, approvers: readonly Approver[]): Promise<Costs> {
  const open = await openRuntime(wire);
  const { begin, lap } = createLapCounter(wire);
  let claim = NO_COUNTS;
  const refunds = refundsAgent(approvers, begin, async () => {
    claim = await lap();
  });
  const first = open(refunds);
  await first.start({ orderId: 'o-17' }, { id: RUN });
  await invoke(first, 'suspended');
  const suspend = await lap();
  const notifier = () => ({ url: 'https://approvals.example.com/', notify: async () => {} });
  await sweepDue({ runtime: open(refunds).runtime, notifierFor: notifier });
  const notify = await lap();
  await open(refunds).run(RUN).decide({ approval: 'refund', by: 'user:ann', answer: 'approve' });
  const decide = await lap();
  await invoke(open(refunds), 'finished');
  return { suspend, decide, claim, all: sum(suspend, decide, claim), 'notification, by a sweep': notify };
}

const refundsAgent = (approvers: readonly Approver[], asking?: () => Promise<void>, decided?: () => Promise<void>) =>
  agent({
    name: 'refunds',
    async run(ctx) {
      await ctx.step('find order', () => ({ id: 'o-17', customer: 'Ada' }));
      await asking?.();
      await ctx.approval('refund', {
        title: 'Refund $120.00 to Ada?',
        show: { order: 'o-17', amount: 120, currency: 'USD', reason: 'The parcel came late.' },
        approvers,
        timeout: { days: 3 },
      });
      await decided?.();
    },
  });

/** The cost of an approval link over HTTP: showing the request, deciding, and showing the outcome. */
export async function approvalLinkCosts(wire: Wire): Promise<Costs> {
  const open = await openRuntime(wire);
  const refunds = refundsAgent(['user:ann']);
  const first = open(refunds);
  await first.start({ orderId: 'o-17' }, { id: RUN });
  await invoke(first, 'suspended');
  let path = '';
  const notifier = {
    url: 'https://example.com/approvals/',
    notify: async ({ links }: { readonly links: readonly { readonly url: string }[] }) => {
      path = new URL(links[0]?.url ?? '').pathname;
    },
  };
  await sweepDue({ runtime: open(refunds).runtime, notifierFor: () => notifier });
  const request = (init: RequestInit = {}) =>
    measureCounts(wire, async () => {
      const { runtime } = open(refunds);
      const api = createApi({ runtime, identify: () => undefined, telemetry: { log: () => {}, count: () => {} } });
      const response = await api.request(path, init);
      if (!response.ok) throw new Error(`The approval link answered ${response.status}: ${await response.text()}`);
    });
  const headers = { 'content-type': 'application/json' };
  const pending = await request();
  const decision = await request({ method: 'POST', headers, body: JSON.stringify({ answer: 'approve' }) });
  const approved = await request();
  return {
    'GET /approvals/{token}, pending': pending,
    [WEBHOOK]: decision,
    'GET /approvals/{token}, approved': approved,
  };
}

/** The row of the request that decides by an approval link. */
export const WEBHOOK = 'POST /approvals/{token}';

/** The cost of signals to a run that waits. */
export async function signalCosts(wire: Wire): Promise<Costs> {
  const open = await openRuntime(wire);
  const { begin, lap } = createLapCounter(wire);
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
  return {
    suspend,
    'signal that wakes the run': waking,
    'another signal': further,
    'another, with an id': withId,
    claim,
  };
}

/** The cost of calling another agent as a child run. */
export async function childCosts(wire: Wire): Promise<Costs> {
  const open = await openRuntime(wire);
  const { begin, lap } = createLapCounter(wire);
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

/** The cost of resuming a run with this many recorded steps in a new process. */
export async function resumeCosts(wire: Wire, steps: number): Promise<Counts> {
  const open = await openRuntime(wire);
  const { begin, lap } = createLapCounter(wire);
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

/** An agent that runs some steps, waits for a signal, and calls `resumed` when it received it. */
export const waitingAgent = (steps: number, resumed?: () => Promise<void>) =>
  agent({
    name: 'waiting',
    async run(ctx) {
      for (let n = 1; n <= steps; n++) await ctx.step('call tool', () => stepResult(n));
      await ctx.waitForSignal('go', { timeout: { days: 3 } });
      await resumed?.();
    },
  });
