import { expect, it } from 'vitest';
import type { Approver } from '../../../lambda/core/approval.ts';
import { agent, approvals } from '../../../lambda/index.ts';
import { memoryStorage } from '../../../lambda/storage/memory.ts';
import { testAgents } from '../../../lambda/testing.ts';

const payments = agent({
  name: 'payments',
  members: () => ['user:bob'],
  notify: () => {},
  run: async (ctx) => {
    const { approved, by } = await ctx.approval('pay', {
      title: 'Pay?',
      approvers: ['user:ann', 'group:finance'],
      quorum: 2,
    });
    return { approved, by };
  },
});

it('a portal decides approvals without the code of the agent, by name and by link', async () => {
  const storage = memoryStorage();
  const world = testAgents(payments, { storage });
  const run = await world.start({}, { id: 'p-1' });
  const portal = approvals({ storage, clock: world.clock });
  const inboxOf = async (person: Approver) => {
    const found: string[] = [];
    for await (const { run: of, title } of portal.inbox(person)) found.push(`${of}: ${title}`);
    return found;
  };
  expect(await inboxOf('user:ann')).toEqual(['p-1: Pay?']);
  await portal.decide('p-1', { approval: 'pay', by: 'user:ann', answer: 'approve' });
  expect(await inboxOf('user:ann')).toEqual([]);

  const link = world.notifications[0]?.links.find(({ person }) => person === 'user:bob');
  const token = link?.url.split('/').at(-1) ?? '';
  expect(await portal.viewByToken(token)).toMatchObject({ run: 'p-1', title: 'Pay?', votes: [{ by: 'user:ann' }] });
  await portal.revokeToken(token);
  await expect(portal.decideByToken(token, { answer: 'approve' })).rejects.toMatchObject({
    code: 'APPROVAL_NOT_FOUND',
  });

  await portal.remind('p-1', 'pay');
  await world.settle();
  const again = world.notifications.at(-1)?.links[0]?.url.split('/').at(-1) ?? '';
  expect(await portal.decideByToken(again, { answer: 'approve' })).toMatchObject({ status: 'APPROVED' });
  await world.skip({ minutes: 2 });
  expect(await run.result()).toEqual({ approved: true, by: ['user:ann', 'user:bob'] });
});

it('a portal refuses an inbox of somebody who cannot be an approver', async () => {
  const portal = approvals({ storage: memoryStorage() });
  await expect(Array.fromAsync(portal.inbox('ann' as Approver))).rejects.toThrow(
    'The owner of an inbox must be "user:" or "group:" followed by a name',
  );
});

it('a portal lists an inbox up to the given limit, and refuses a limit of 0', async () => {
  const storage = memoryStorage();
  const world = testAgents(payments, { storage });
  for (const id of ['p-1', 'p-2', 'p-3']) await world.start({}, { id });
  const portal = approvals({ storage, clock: world.clock });
  const runsIn = async (limit: number) =>
    (await Array.fromAsync(portal.inbox('user:ann', { limit }))).map(({ run }) => run);
  expect(await runsIn(2)).toHaveLength(2);
  expect(await runsIn(Infinity)).toHaveLength(3);
  await expect(runsIn(0)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});
