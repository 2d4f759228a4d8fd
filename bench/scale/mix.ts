import { createHash } from 'node:crypto';
import { toPartition } from '../../lambda/core/ids.ts';
import { type Agent, agent } from '../../lambda/index.ts';
import { DUE_SHARD_COUNT, dueGroup } from '../../lambda/storage/keys.ts';
import type { Deployment } from '../deployment.ts';
import { freshText } from '../works.ts';

/** A kind of run in the workload. */
export interface RunKind {
  readonly name: string;
  /** How many of a hundred runs are of this kind. */
  readonly share: number;
  /** Its number of steps: model and tool calls. */
  readonly steps: number;
  readonly agent: Agent<never>;
  /** The event that each of its runs receives once it waits. */
  readonly afterWait?: (deployed: Deployment, of: Agent<never>, run: string) => Promise<unknown>;
}

const KB = 114;
const result = (n: number, kilobytes = 1): string => freshText(n, Math.round(KB * kilobytes));

/** The approval links that were sent, by run. */
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

/** Opens the approval page and approves. */
async function approveByLink(deployed: Deployment, { runtime }: Agent<never>, run: string): Promise<void> {
  const url = links.get(`${runtime.contexts.tenant}/${run}`) ?? '';
  await deployed.link('GET', url);
  await deployed.link('POST', url, { answer: 'approve' });
}

/** The workload: what a hundred runs consist of. */
export const MIX: readonly RunKind[] = [
  { name: 'three steps of 1 KB', share: 60, steps: 3, agent: trip },
  {
    name: 'a step, an approval by one member of a group, a step',
    share: 20,
    steps: 2,
    agent: refunds,
    afterWait: approveByLink,
  },
  { name: 'a step, one hour of sleep, a step', share: 10, steps: 2, agent: followUp },
  { name: 'three steps of 20 KB', share: 8, steps: 3, agent: research },
  {
    name: 'a step, a wait for a signal, then cancelled',
    share: 2,
    steps: 1,
    agent: orders,
    afterWait: (_, of, run) => of.run(run).cancel('no longer wanted'),
  },
];

/** The tenants: one has half of all runs, nine share the rest. */
export const TENANTS = { large: 'acme', small: Array.from({ length: 9 }, (_, n) => `tenant-${n + 1}`) } as const;

/** A run of the workload. */
export interface MixedRun {
  readonly kind: RunKind;
  readonly tenant: string;
  readonly id: string;
  readonly owner: string;
}

const OWNERS = 20;

/** The given number of hundreds of runs; deterministic. */
export function mixedRuns(hundreds: number): readonly MixedRun[] {
  return MIX.flatMap((kind) =>
    Array.from({ length: kind.share * hundreds }, (_, n): MixedRun => {
      const tenant = n % 2 === 0 ? TENANTS.large : (TENANTS.small[((n - 1) / 2) % TENANTS.small.length] ?? '');
      return { kind, tenant, id: runIdInShard(tenant, `${kind.agent.name} ${n}`, n), owner: `user-${n % OWNERS}` };
    }),
  );
}

/** An id that assigns runs to the due shards in turn, as evenly as many random ids are. */
function runIdInShard(tenant: string, seed: string, turn: number): string {
  for (let tries = 0; ; tries++) {
    const id = runId(`${seed} ${tries}`);
    if (dueGroup(toPartition(tenant, id)) === `due/${turn % DUE_SHARD_COUNT}`) return id;
  }
}

/** Looks like a random UUID, but is derived from the seed. */
export function runId(seed: string): string {
  const hex = createHash('sha256').update(seed).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
