import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { ApprovalOptions } from '../../lambda/runtime/definition/agent-context.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';
import { describeOnEachStorage, headOf } from './storages.ts';

type Members = (group: string) => readonly string[];

const asking = (request: Partial<ApprovalOptions<unknown>>, members?: Members) =>
  agent({
    name: 'asking',
    ...(members && { members }),
    run: (ctx) =>
      ctx.approval('pay', { title: 'Pay?', approvers: ['user:ann', 'user:bob'], excludeRequester: true, ...request }),
  });

const BY_ANN = { id: 'r', requestedBy: 'user:ann' } as const;

describeOnEachStorage('the requester of a run', (open) => {
  it('is recorded when the run starts, and stays the same if it is started again', async () => {
    const world = testAgents(asking({}), { storage: await open() });
    const run = await world.start({}, BY_ANN);
    await world.start({}, { id: 'r', requestedBy: 'user:eve' });
    expect(await world.agent.store.describe('r')).toMatchObject({ requestedBy: 'user:ann' });
    expect(await run.approvals()).toMatchObject([{ requestedBy: 'user:ann', excludeRequester: true }]);
    await expect(run.approve('pay', { by: 'user:ann' })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
    await run.approve('pay');
    expect(await run.result()).toMatchObject({ approved: true, by: ['user:bob'] });
  });
});

describe('the requester of a run', () => {
  it('is the requester of its child runs, and the agent knows them', async () => {
    const child = agent({ name: 'child', run: async (ctx) => ctx.requestedBy ?? 'nobody' });
    const parent = agent({ name: 'parent', run: (ctx) => ctx.call(child, {}) });
    const world = testAgents(parent, { agents: [child] });
    expect(await (await world.start({}, BY_ANN)).result()).toBe('user:ann');
    expect((await headOf(world.agent, 'r.child')).requestedBy).toBe('user:ann');
    expect(await (await world.start({}, { id: 'q' })).result()).toBe('nobody');
  });

  it('stays the same after a rewind, a retry and a fork', async () => {
    const world = testAgents(asking({}));
    const run = await world.start({}, BY_ANN);
    await run.rewind(1);
    const fork = await run.fork({ version: 1, requestedBy: 'user:eve' });
    for (const each of [run, world.run(fork.id)]) {
      await expect(each.approve('pay', { by: 'user:ann' })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
      await each.approve('pay', { by: 'user:bob' });
    }
  });

  it('is given to a fork if the original run has none, which makes a refused approval possible', async () => {
    const world = testAgents(asking({}));
    const run = await world.start({}, { id: 'r' });
    await run.expect({ status: 'FAILED' });
    await expect(run.result()).rejects.toThrow('Start the run with `requestedBy`, such as "user:ann".');
    await run.retry();
    await run.expect({ status: 'FAILED' });
    const fork = await run.fork({ version: 1, requestedBy: 'user:ann' });
    expect(await fork.approvals()).toMatchObject([{ requestedBy: 'user:ann' }]);
  });

  it('must be a person', async () => {
    const world = testAgents(asking({}));
    for (const requestedBy of ['ann', 'group:finance', '', 7])
      await expect(world.start({}, { requestedBy: requestedBy as 'user:ann' })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      });
  });

  it('can be given with the first save of a run only', async () => {
    const { store } = testAgents(asking({})).agent;
    const first = await store.save({ run: 's', requestedBy: 'user:ann' });
    await expect(store.save({ run: 's', expectedVersion: first, requestedBy: 'user:eve' })).rejects.toThrow(
      '`requestedBy` must be given with the first save of a run only; found "user:eve".',
    );
    await store.save({ run: 's', expectedVersion: first, requestedBy: 'user:ann', state: { at: 2 } });
    expect(await store.describe('s')).toMatchObject({ requestedBy: 'user:ann' });
  });

  it('is forgotten with the run', async () => {
    const storage = memoryStorage();
    const { store } = testAgents(asking({}), { storage }).agent;
    await store.save({ run: 's', requestedBy: 'user:ann' });
    const stored = async () => JSON.stringify((await storage.records.range('default/s')).records);
    expect(await stored()).toContain('user:ann');
    await store.delete('s');
    expect(await stored()).not.toContain('user:ann');
  });
});

describe('an approval that excludes the requester', () => {
  it('is refused with an error that a replay throws again, even if the agent catches it', async () => {
    let finance = ['user:ann', 'user:bob'];
    const catching = agent({
      name: 'catching',
      members: () => finance,
      async run(ctx) {
        const request = { title: 'Pay?', approvers: ['group:finance'], quorum: 2, excludeRequester: true } as const;
        const refused = await ctx.approval('pay', request).then(String, String);
        await ctx.waitForSignal('go');
        return refused;
      },
    });
    const world = testAgents(catching);
    const run = await world.start({}, BY_ANN);
    finance = ['user:ann', 'user:bob', 'user:cho'];
    await run.signal('go', 1);
    expect(await run.result()).toContain('`quorum` must be at most 1, the number of approvers besides user:ann');
  });

  it('is requested again by a retry of the run, after a member was added', async () => {
    let finance = ['user:ann'];
    const world = testAgents(asking({ approvers: ['group:finance'] }, () => finance));
    const run = await world.start({}, BY_ANN);
    await run.expect({ status: 'FAILED' });
    finance = ['user:ann', 'user:bob'];
    await run.retry();
    await run.approve('pay', { by: 'user:bob' });
    expect(await run.result()).toMatchObject({ by: ['user:bob'] });
  });

  it('is requested if nobody can list the members of a group now', async () => {
    let isDown = true;
    const members = () => {
      if (isDown) throw new Error('The directory is down.');
      return ['user:ann', 'user:bob'];
    };
    const world = testAgents(asking({ approvers: ['group:finance'] }, members));
    await (await world.start({}, BY_ANN)).expect({ status: 'WAITING_FOR_APPROVAL' });
    isDown = false;
    await world.skip({ minutes: 2 });
    await world.run('r').approve('pay');
    expect(await world.run('r').result()).toMatchObject({ by: ['user:bob'] });
  });

  it('keeps excluding them when facts changed and it is requested again', async () => {
    let fare = 1;
    const facts = { facts: { fare }, recheck: () => ({ fare }) };
    const world = testAgents(asking(facts as Partial<ApprovalOptions<unknown>>));
    const run = await world.start({}, BY_ANN);
    fare = 2;
    await run.approve('pay');
    await expect(run.approve('pay~2', { by: 'user:ann' })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
    await run.approve('pay~2');
    expect(await run.result()).toMatchObject({ requestCount: 2, by: ['user:bob'] });
  });

  it('refuses an option that is not true or false', async () => {
    const world = testAgents(asking({ excludeRequester: 'yes' as never }));
    const run = await world.start({}, BY_ANN);
    await expect(run.result()).rejects.toThrow('`excludeRequester` must be true or false; found "yes".');
  });
});
