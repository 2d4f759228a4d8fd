import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

describe('hostile input', () => {
  it('fails the wait that receives it, and does not block the run, if it cannot be stored', async () => {
    const listening = agent({
      name: 'listening',
      run: async (ctx) => ctx.waitForSignal('go').catch((error: Error) => `refused: ${error.message.slice(0, 20)}`),
    });
    const world = testAgents(listening);
    const run = await world.start({});
    await run.signal('go', nested(1000));
    await world.skip({ hours: 1 });
    expect(await run.result()).toMatch(/^refused: /);
  });

  it('is rejected as edits when it is nested too deeply, and the approval stays pending', async () => {
    const approvalAgent = agent({
      name: 'asking',
      run: async (ctx) => ctx.approval('go', { title: 'Go?', approvers: ['user:ann'], editable: true }),
    });
    const run = await testAgents(approvalAgent).start({});
    for (const levels of [101, 1_100, 5_000])
      await expect(run.approve('go', { edits: nested(levels) })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await run.approve('go', { edits: nested(90) });
    expect(await run.result()).toMatchObject({ approved: true });
  });
});

describe('a run under hostile conditions', () => {
  it('can be cancelled with more pending approvals than a commit has writes, and then is in no inbox', async () => {
    const approvers = Array.from({ length: 30 }, (_, i) => `user:${i}` as const);
    const many = agent({
      name: 'many',
      run: (ctx) => ctx.map('ask', [1, 2, 3, 4, 5], (branch) => branch.approval('go', { title: 'Go?', approvers })),
    });
    const world = testAgents(many);
    const run = await world.start({});
    const open = await run.approvals();
    expect(open).toHaveLength(5);
    expect(await run.cancel()).toBe('CANCELLED');
    await expect(run.decide({ approval: open[4]?.id ?? '', by: 'user:3', answer: 'approve' })).rejects.toMatchObject({
      code: 'APPROVAL_WITHDRAWN',
    });
  });

  it('is skipped by another agent', async () => {
    const storage = memoryStorage();
    const payments = agent({ name: 'payments', run: async () => 'paid' }, { storage });
    const mailer = agent({ name: 'mailer', run: async () => 'mailed' }, { storage });
    const run = await payments.start({}, { id: 'r' });
    const claimant = { by: 'x', until: Date.now() + 60_000 };
    expect(await mailer.invoke({ run: 'r' }, claimant)).toEqual({ end: 'skipped', reason: 'other agent' });
    expect(await payments.invoke({ run: 'r' }, claimant)).toMatchObject({ end: 'finished' });
    expect(await run.result()).toBe('paid');
  });

  it('notices within a day that its child was deleted', async () => {
    const child = agent({ name: 'child', run: (ctx) => ctx.waitForSignal('never') });
    const parent = agent({
      name: 'parent',
      run: async (ctx) => ctx.call(child, {}, { id: 'c' }).catch((error: Error) => error.message),
    });
    const world = testAgents(parent, { agents: [child] });
    const run = await world.start({});
    await world.agent.store.delete('c');
    await world.skip({ days: 1 });
    await world.skip({ minutes: 2 });
    expect(await run.result()).toMatch(/^Run "c" of agent "child" failed: .*(no run|deleted)/);
  });

  it('can be cancelled while it undoes a failure', async () => {
    let fails = 3;
    const undoing = agent({
      name: 'undoing',
      async run(ctx) {
        await ctx.step('book', () => 1, {
          undo: () => {
            fails -= 1;
            if (fails > 0) throw new Error('later');
          },
        });
        throw new Error('broken');
      },
      retry: { maxAttempts: 5, initialDelay: { hours: 1 } },
    });
    const world = testAgents(undoing);
    const run = await world.start({});
    expect(await run.status()).toBe('ENDING');
    expect(await run.cancel('enough')).toBe('ENDING');
    await world.skip({ days: 2 });
    expect(await run.status()).toBe('CANCELLED');
    await expect(run.result()).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
  });
});
