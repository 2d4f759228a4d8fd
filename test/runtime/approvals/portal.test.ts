import { expect, it } from 'vitest';
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

it('answers approvals without knowing the agent: by name, and by link', async () => {
  const storage = memoryStorage();
  const world = testAgents(payments, { storage });
  const run = await world.start({}, { id: 'p-1' });
  const operator = approvals({ storage, clock: world.clock });
  const inboxOf = async (person: string) => {
    const found: string[] = [];
    for await (const { run: of, title } of operator.inbox(person)) found.push(`${of}: ${title}`);
    return found;
  };
  expect(await inboxOf('user:ann')).toEqual(['p-1: Pay?']);
  await operator.decide('p-1', { approval: 'pay', by: 'user:ann', answer: 'approve' });
  expect(await inboxOf('user:ann')).toEqual([]);

  const link = world.notifications[0]?.links.find(({ person }) => person === 'user:bob');
  const token = link?.url.split('/').at(-1) ?? '';
  expect(await operator.viewByToken(token)).toMatchObject({ run: 'p-1', title: 'Pay?', votes: [{ by: 'user:ann' }] });
  await operator.revokeToken(token);
  await expect(operator.decideByToken(token, { answer: 'approve' })).rejects.toMatchObject({
    code: 'APPROVAL_NOT_FOUND',
  });

  await operator.remind('p-1', 'pay');
  await world.settle();
  const again = world.notifications.at(-1)?.links[0]?.url.split('/').at(-1) ?? '';
  expect(await operator.decideByToken(again, { answer: 'approve' })).toMatchObject({ status: 'APPROVED' });
  await world.skip({ minutes: 2 });
  expect(await run.result()).toEqual({ approved: true, by: ['user:ann', 'user:bob'] });
});
