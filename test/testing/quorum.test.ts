import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/index.ts';
import { testAgents } from '../../lambda/testing.ts';

/** Pays if two of finance approve. */
const refund = (finance?: readonly `user:${string}`[]) =>
  agent({
    name: 'refund',
    ...(finance && { members: () => finance }),
    async run(ctx) {
      const decision = await ctx.approval<{ amount: number }, { amount: number }>('pay', {
        ...{ title: 'Pay back $80?', facts: { amount: 80 }, approvers: ['group:finance'], quorum: 2, editable: true },
      });
      return decision.approved ? (decision.edits?.amount ?? 80) : 0;
    },
  });

describe('ann, bob and zed in the test kit', () => {
  it('pay what bob proposes only after ann approves it, because her approval was for another amount', async () => {
    const run = await testAgents(refund(['user:ann', 'user:bob'])).start({}, { id: 'r' });
    await run.approve('pay', { by: 'user:ann' });
    await run.approve('pay', { by: 'user:bob', edits: { amount: 79 } });
    await run.expect({ status: 'WAITING_FOR_APPROVAL' });
    await run.approve('pay', { by: 'user:ann' });
    expect(await run.result()).toBe(79);
  });

  it.each([
    ['lists the members', refund(['user:ann', 'user:bob'])],
    ['does not list the members', refund()],
  ])('have no vote of zed, who is in no group, if the agent %s', async (_, given) => {
    const run = await testAgents(given).start({}, { id: 'r' });
    await run.approve('pay', { by: 'user:ann', groups: ['group:finance'] });
    await expect(run.approve('pay', { by: 'user:zed' })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
    await run.expect({ status: 'WAITING_FOR_APPROVAL' });
    await run.approve('pay', { by: 'user:bob', groups: ['group:finance'] });
    expect(await run.result()).toBe(80);
  });
});
