import { dynamoStorage } from '../../lambda/dynamodb.ts';
import { agent } from '../../lambda/index.ts';
import { streamOf } from '../../test/engines/table-stream.ts';
import { addCounts, type Counts, countsSince } from '../counts.ts';
import { type Activity, addActivity, createDeployment, type Deployment } from '../deployment.ts';
import { stepResult } from '../runtime-steps.ts';
import { storedBytes } from '../stored-bytes.ts';
import { createDynamoTarget } from '../systems.ts';
import type { Wire } from '../wire.ts';
import { RUN } from '../works.ts';

/** What something used: requests on the wire, and everything else that is billed. */
export interface Usage {
  readonly counts: Counts;
  readonly activity: Activity;
}

/** What a deployment uses. */
export interface DeploymentUnits {
  /** A run with three steps: without options, and with owner, tag, timeout and retention. */
  readonly plainRun: Usage;
  readonly fullRun: Usage;
  /** Removing the latter: one sweep when its retention ends, another a day later. */
  readonly removal: Usage;
  /** From the approval request until the agent resumes: notification, page view and decision by link. */
  readonly approval: Usage;
  /** Bytes of a run in the table and its indexes while it waits for the approval. */
  readonly waitingBytes: number;
  /** An idle sweep and gauge, and how many metrics the two write. */
  readonly sweep: Usage;
  readonly gauge: Usage;
  readonly metrics: number;
}

const RETENTION_DAYS = 90;
const DAY_MS = 86_400_000;

const trip = agent({
  name: 'trip',
  async run(ctx) {
    for (const n of [1, 2, 3]) await ctx.step(`step ${n}`, () => stepResult(n));
  },
});

/** Counts what handlers and agents use on the test engines; each function triggers the next, as on AWS. */
export async function deploymentUnits(wire: Wire): Promise<DeploymentUnits> {
  const metrics = new Set<string>();
  const approving = approvalAgent(() => lap());
  const { writer, ...target } = await createDynamoTarget(wire);
  const deployed: Deployment = createDeployment({
    storage: dynamoStorage(target),
    writer,
    agents: [trip, approving.agent],
    nextRecords: await streamOf(wire.dynamo, target.table),
    onMetric: (metric) => void metrics.add(metric),
  });
  const { at, clock, flow } = deployed;
  let last = await wire.counts();
  async function lap(): Promise<Usage> {
    const now = await wire.counts();
    const taken = { counts: countsSince(last, now), activity: deployed.take() };
    last = now;
    return taken;
  }
  const during = async (work: () => Promise<unknown>): Promise<Usage> => {
    await lap();
    await work();
    await flow();
    return lap();
  };

  const sweep = await during(deployed.sweep);
  const gauge = await during(deployed.gauge);
  const metricCount = metrics.size;
  const plainRun = await during(() => at(trip).start({ to: 'Lisbon' }, { id: RUN }));
  const full = { owner: 'ada', tags: ['vip'], timeout: { days: 7 }, retention: { days: RETENTION_DAYS } };
  const fullRun = await during(() => at(trip).start({ to: 'Lisbon' }, { id: `${RUN}-full`, ...full }));

  await at(approving.agent).start({ orderId: 'o-17' }, { id: `${RUN}-asks` });
  await flow();
  const waitingBytes = await storedBytes(wire.dynamo, target.table, `default/${RUN}-asks`);
  await deployed.link('GET', approving.link());
  await deployed.link('POST', approving.link(), { answer: 'approve' });
  await flow();

  const sweepAfter = async (milliseconds: number): Promise<Usage> => {
    clock.moveTo(clock.now() + milliseconds);
    const { counts, activity } = await during(deployed.sweep);
    return { counts: countsSince(sweep.counts, counts), activity };
  };
  const expiry = await sweepAfter((RETENTION_DAYS + 1) * DAY_MS);
  const freeing = await sweepAfter(DAY_MS + DAY_MS / 24);
  const removal = {
    counts: addCounts(expiry.counts, freeing.counts),
    activity: addActivity(expiry.activity, freeing.activity),
  };
  return { plainRun, fullRun, removal, approval: approving.taken(), waitingBytes, sweep, gauge, metrics: metricCount };
}

/** An agent that requests one approval, and reports what was used from the request until it resumes. */
function approvalAgent(lap: () => Promise<Usage>) {
  let link = '';
  let hasRequested = false;
  let taken: Usage | undefined;
  return {
    link: () => link,
    taken(): Usage {
      if (!taken) throw new Error('Expected the agent to resume after the decision; it did not.');
      return taken;
    },
    agent: agent({
      name: 'refunds',
      notify: ({ links: [first] }) => {
        link = first?.url ?? '';
      },
      async run(ctx) {
        await ctx.step('find order', () => ({ id: 'o-17', customer: 'Ada' }));
        if (!hasRequested) await lap();
        hasRequested = true;
        await ctx.approval('refund', {
          title: 'Refund $120.00 to Ada?',
          show: { order: 'o-17', amount: 120, currency: 'USD', reason: 'The parcel came late.' },
          approvers: ['user:ann'],
          timeout: { days: 3 },
        });
        taken = await lap();
      },
    }),
  };
}
