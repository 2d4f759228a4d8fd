import { createHash } from 'node:crypto';
import { DUE_SHARDS, dueGroup } from '../../lambda/checkpoints/format/records.ts';
import { partitionOf } from '../../lambda/core/ids.ts';
import { type Agent, agent } from '../../lambda/index.ts';
import type { Deployment } from '../deployment.ts';
import { freshText } from '../works.ts';

/** A kind of run in the mix. */
export interface Kind {
  readonly name: string;
  /** Of a hundred runs, so many are of this kind. */
  readonly share: number;
  /** How many steps it has: calls of models and tools. */
  readonly steps: number;
  readonly agent: Agent<never>;
  /** What happens to each of its runs from outside, once it waits. */
  readonly outside?: (deployed: Deployment, of: Agent<never>, run: string) => Promise<unknown>;
}

const KB = 114;
const result = (n: number, kilobytes = 1): string => freshText(n, Math.round(KB * kilobytes));

/** The links of people who were told of an approval, by run. */
const links = new Map<string, string>();

const trip = agent({
  name: 'trip',
  async run(ctx) {
    for (const n of [1, 2, 3]) await ctx.step(`step ${n}`, () => result(n));
  },
});

const refunds = agent({
  name: 'refunds',
  members: () => ['user:ann'],
  notify: ({ tenant, run, links: [link] }) => void links.set(`${tenant}/${run}`, link?.url ?? ''),
  async run(ctx) {
    await ctx.step('find order', () => result(1));
    await ctx.approval('refund', {
      title: 'Refund $120.00 to Ada?',
      show: { order: 'o-17', amount: 120, currency: 'USD', reason: 'The parcel came late.' },
      approvers: ['group:finance'],
      timeout: { days: 3 },
    });
    await ctx.step('pay', () => result(2));
  },
});

const followUp = agent({
  name: 'follow-up',
  async run(ctx) {
    await ctx.step('send offer', () => result(1));
    await ctx.sleep('an hour', { hours: 1 });
    await ctx.step('ask', () => result(2));
  },
});

const research = agent({
  name: 'research',
  async run(ctx) {
    for (const n of [1, 2, 3]) await ctx.step(`read ${n}`, () => result(n, 20));
  },
});

const orders = agent({
  name: 'orders',
  async run(ctx) {
    await ctx.step('order', () => result(1));
    await ctx.waitForSignal('paid', { timeout: { days: 3 } });
  },
});

/** Looks at the question and says yes. */
async function answer(deployed: Deployment, { runtime }: Agent<never>, run: string): Promise<void> {
  const url = links.get(`${runtime.contexts.tenant}/${run}`) ?? '';
  await deployed.link('GET', url);
  await deployed.link('POST', url, { answer: 'approve' });
}

/** The mix: what a hundred runs are. */
export const MIX: readonly Kind[] = [
  { name: 'three steps of 1 KB', share: 60, steps: 3, agent: trip },
  { name: 'a step, an approval by one of a group, a step', share: 20, steps: 2, agent: refunds, outside: answer },
  { name: 'a step, an hour of sleep, a step', share: 10, steps: 2, agent: followUp },
  { name: 'three steps of 20 KB', share: 8, steps: 3, agent: research },
  {
    ...{ name: 'a step, a wait for a signal, cancelled', share: 2, steps: 1, agent: orders },
    outside: (_, of, run) => of.run(run).cancel('no longer wanted'),
  },
];

/** The tenants: one has half of all runs, nine share the rest. */
export const TENANTS = { large: 'acme', small: Array.from({ length: 9 }, (_, n) => `tenant-${n + 1}`) } as const;

/** A run of the mix. */
export interface MixedRun {
  readonly kind: Kind;
  readonly tenant: string;
  readonly id: string;
  readonly owner: string;
}

const OWNERS = 20;

/** So many hundreds of runs of the mix; always the same ones. */
export function mixedRuns(hundreds: number): readonly MixedRun[] {
  return MIX.flatMap((kind) =>
    Array.from({ length: kind.share * hundreds }, (_, n): MixedRun => {
      const tenant = n % 2 === 0 ? TENANTS.large : (TENANTS.small[((n - 1) / 2) % TENANTS.small.length] ?? '');
      return { kind, tenant, id: idInGroup(tenant, `${kind.agent.name} ${n}`, n), owner: `user-${n % OWNERS}` };
    }),
  );
}

/** An id whose run is in a group of the due list in turn: as even as a great many are by chance. */
function idInGroup(tenant: string, seed: string, turn: number): string {
  for (let tries = 0; ; tries++) {
    const id = runId(`${seed} ${tries}`);
    if (dueGroup(partitionOf(tenant, id)) === `due/${turn % DUE_SHARDS}`) return id;
  }
}

/** As random as ids are in practice, and the same each time. */
export function runId(seed: string): string {
  const hex = createHash('sha256').update(seed).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
