import { describe, expect, it } from 'vitest';
import { approvals } from '../../lambda/index.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { sweepDue } from '../../lambda/runtime/control/sweep.ts';
import type { ApprovalOptions } from '../../lambda/runtime/definition/agent-context.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { testAgents } from '../../lambda/testing.ts';
import { describeOnEachStorage } from './storages.ts';

const asking = (request: Partial<ApprovalOptions<unknown>> = {}) =>
  agent({ name: 'asking', run: (ctx) => ctx.approval('pay', { title: 'Pay?', approvers: ['user:ann'], ...request }) });

const DAY = 86_400_000;

function scene(storage: Storage, request?: Partial<ApprovalOptions<unknown>>) {
  const world = testAgents(asking(request), { storage });
  const portal = approvals({ storage, clock: world.clock });
  const until = new Date(world.clock.now() + 5 * DAY);
  return { world, portal, until };
}

describeOnEachStorage('a portal', (open) => {
  it('makes, lists and ends delegations, and the agent learns who decided for whom', async () => {
    const { world, portal, until } = scene(await open());
    const made = await portal.delegate({ person: 'user:ann', delegate: 'user:cho', until });
    const now = new Date(world.clock.now());
    expect(made).toEqual({
      ...{ person: 'user:ann', delegate: 'user:cho', from: now, until, createdBy: 'user:ann', createdAt: now },
    });
    expect(await portal.delegations()).toEqual([made]);
    expect(await portal.delegations({ person: 'user:ann' })).toEqual([made]);
    const run = await world.start({}, { id: 'r' });
    await run.approve('pay', { by: 'user:cho', comment: 'For Ann.' });
    expect(await run.result()).toMatchObject({
      approved: true,
      by: ['user:cho'],
      delegated: [{ by: 'user:cho', for: 'user:ann' }],
      comment: 'For Ann.',
    });
    expect(await portal.endDelegation('user:ann')).toEqual(made);
    expect(await portal.endDelegation('user:ann')).toBeUndefined();
    expect(await portal.delegations()).toEqual([]);
  });

  it('leaves nothing of a delegation behind after it has ended', async () => {
    const storage = await open();
    const { world, portal, until } = scene(storage);
    await portal.delegate({ person: 'user:ann', delegate: 'user:cho', until });
    const [stored] = (await storage.records.range('default/@delegations')).records;
    const { runtime } = world.agent;
    await sweepDue({ runtime });
    expect((await storage.records.range('default/@delegations')).records).toEqual([stored]);
    world.clock.moveTo(until.getTime());
    await sweepDue({ runtime });
    // DynamoDB removes it by itself.
    const { records } = await storage.records.range('default/@delegations');
    expect(storage.records.removesExpired ? stored?.expiresAt : records).toEqual(
      storage.records.removesExpired ? until.getTime() : [],
    );
  });
});

describe('a decision without delegations', () => {
  it('has no field about them', async () => {
    const { world } = scene(memoryStorage());
    const run = await world.start({}, { id: 'r' });
    await run.approve('pay');
    expect(await run.result()).not.toHaveProperty('delegated');
  });

  it('reads no delegation, and neither does an inbox; a vote of someone else reads them once', async () => {
    const reads: string[] = [];
    const { records, payloads } = memoryStorage();
    const storage: Storage = {
      payloads,
      records: {
        ...records,
        read: (partition, keys) => {
          reads.push(partition);
          return records.read(partition, keys);
        },
        range: (partition, options) => {
          reads.push(partition);
          return records.range(partition, options);
        },
      },
    };
    const ofDelegations = () => reads.filter((partition) => partition.includes('@delegations'));
    const { world, portal } = scene(storage, { approvers: ['user:ann', 'user:bob', 'user:eve'], quorum: 2 });
    const run = await world.start({}, { id: 'r' });
    reads.length = 0;
    await run.approve('pay', { by: 'user:ann' });
    expect(await Array.fromAsync(portal.inbox('user:bob'))).toHaveLength(1);
    expect(ofDelegations()).toEqual([]);
    await expect(run.approve('pay', { by: 'user:cho' })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
    expect(ofDelegations()).toHaveLength(1);
  });
});
