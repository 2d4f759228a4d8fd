import { dynamoStorage } from '../../lambda/dynamodb.ts';
import { agent } from '../../lambda/index.ts';
import { streamOf } from '../../test/engines/table-stream.ts';
import { type Counts, plus, since } from '../counts.ts';
import { type Deployment, type Done, deployment, doneTogether } from '../deployment.ts';
import { resultOf } from '../runtime-steps.ts';
import { storedBytes } from '../stored-bytes.ts';
import { dynamoPlace } from '../systems.ts';
import type { Wire } from '../wire.ts';
import { RUN } from '../works.ts';

/** What something used: requests on the wire, and everything else that is billed. */
export interface Taken {
  readonly counts: Counts;
  readonly done: Done;
}

/** What a deployment uses. */
export interface DeploymentUnits {
  /** A run with three steps: without options, and with owner, tag, timeout and retention. */
  readonly plainRun: Taken;
  readonly fullRun: Taken;
  /** Removing the latter: one sweep when its retention ends, another a day later. */
  readonly removal: Taken;
  /** From the approval request until the agent resumes: notification, page view and decision by link. */
  readonly approval: Taken;
  /** Bytes of a run in the table and its indexes while it waits for the approval. */
  readonly waitingBytes: number;
  /** An idle sweep and gauge, and how many metrics the two write. */
  readonly sweep: Taken;
  readonly gauge: Taken;
  readonly metrics: number;
}

const RETENTION_DAYS = 90;
const DAY_MS = 86_400_000;

const trip = agent({
  name: 'trip',
  async run(ctx) {
    for (const n of [1, 2, 3]) await ctx.step(`step ${n}`, () => resultOf(n));
  },
});

/** Counts what handlers and agents use on the test engines; each function triggers the next, as on AWS. */
export async function deploymentUnits(wire: Wire): Promise<DeploymentUnits> {
  const metrics = new Set<string>();
  const asking = askingAgent(() => lap());
  const { writer, ...place } = await dynamoPlace(wire);
  const deployed: Deployment = deployment({
    ...{ storage: dynamoStorage(place), writer, agents: [trip, asking.agent] },
    nextRecords: await streamOf(wire.dynamo, place.table),
    measuring: (metric) => void metrics.add(metric),
  });
  const { at, clock, flow } = deployed;
  let last = await wire.counts();
  async function lap(): Promise<Taken> {
    const now = await wire.counts();
    const taken = { counts: since(last, now), done: deployed.take() };
    last = now;
    return taken;
  }
  const during = async (work: () => Promise<unknown>): Promise<Taken> => {
    await lap();
    await work();
    await flow();
    return lap();
  };

  const sweep = await during(deployed.sweep);
  const gauge = await during(deployed.gauge);
  const written = metrics.size;
  const plainRun = await during(() => at(trip).start({ to: 'Lisbon' }, { id: RUN }));
  const full = { owner: 'ada', tags: ['vip'], timeout: { days: 7 }, retentionSeconds: RETENTION_DAYS * 24 * 3600 };
  const fullRun = await during(() => at(trip).start({ to: 'Lisbon' }, { id: `${RUN}-full`, ...full }));

  await at(asking.agent).start({ orderId: 'o-17' }, { id: `${RUN}-asks` });
  await flow();
  const waitingBytes = await storedBytes(wire.dynamo, place.table, `default/${RUN}-asks`);
  await deployed.link('GET', asking.link());
  await deployed.link('POST', asking.link(), { answer: 'approve' });
  await flow();

  const sweepAfter = async (milliseconds: number): Promise<Taken> => {
    clock.moveTo(clock.now() + milliseconds);
    const { counts, done } = await during(deployed.sweep);
    return { counts: since(sweep.counts, counts), done };
  };
  const emptied = await sweepAfter((RETENTION_DAYS + 1) * DAY_MS);
  const freed = await sweepAfter(DAY_MS + DAY_MS / 24);
  const removal = { counts: plus(emptied.counts, freed.counts), done: doneTogether(emptied.done, freed.done) };
  return { plainRun, fullRun, removal, approval: asking.taken(), waitingBytes, sweep, gauge, metrics: written };
}

/** An agent that requests one approval, and reports what was used from the request until it resumes. */
function askingAgent(lap: () => Promise<Taken>) {
  let link = '';
  let hasAsked = false;
  let taken: Taken | undefined;
  return {
    link: () => link,
    taken(): Taken {
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
        if (!hasAsked) await lap();
        hasAsked = true;
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
