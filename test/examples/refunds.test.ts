import { describe, expect, it } from 'vitest';
import { testAgents } from 'waitstate/testing';
import { refunds } from '../../examples/refunds/agent.ts';
import { payments } from '../../examples/refunds/shop.ts';
import { outbox } from '../../examples/simulated/mail.ts';
import { exampleOf, freshServices, paidIn } from './simulated.ts';

const example = exampleOf(refunds);
const ann = { by: 'user:ann' } as const;
const bob = { by: 'user:bob' } as const;

/** The recipients and subjects of all mails. */
const mails = async () => (await outbox.entries()).map(({ to, subject }) => `To ${to}: ${subject}`);

freshServices();

describe('the refund agent', () => {
  it('pays when two people in finance approve, and counts two votes of one person once', async () => {
    const run = await testAgents(refunds).start(example);
    expect(await run.approvals()).toMatchObject([
      {
        title: 'Refund $80 to customer 4?',
        show: { order: 'o-17', bought: 'Headphones', reason: 'The left side is silent.' },
        ...{ facts: { amount: 80 }, approvers: ['group:finance'], quorum: 2, editable: true },
      },
    ]);
    await run.approve('refund', ann);
    await run.approve('refund', ann);
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    await run.approve('refund', bob);
    expect(await run.result()).toEqual({ refunded: true, paid: 80, approvedBy: ['user:ann', 'user:bob'] });
    expect(await paidIn(payments)).toEqual([['refund of o-17', 80]]);
    expect(await mails()).toContain('To customer 4: Your order o-17');
  });

  it('pays the amount that an approver lowered, and rejects a higher one', async () => {
    const run = await testAgents(refunds).start(example);
    await run.approve('refund', ann);
    await expect(run.approve('refund', { ...bob, edits: { amount: 800 } })).rejects.toThrow(
      '/amount: Enter a number above 0 and up to 80.',
    );
    await run.approve('refund', { ...bob, edits: { amount: 60 }, comment: 'The cable is fine.' });
    expect(await run.approvals()).toMatchObject([{ proposal: { by: 'user:bob', edits: { amount: 60 } } }]);
    expect(await payments.entries()).toEqual([]);
    await run.approve('refund', ann);
    expect(await run.result()).toMatchObject({ refunded: true, paid: 60 });
    expect(await paidIn(payments)).toEqual([['refund of o-17', 60]]);
  });

  it('pays nothing when one of them rejects', async () => {
    const run = await testAgents(refunds).start(example);
    await run.approve('refund', ann);
    await run.reject('refund', { ...bob, comment: 'Repair it.' });
    expect(await run.result()).toEqual({ refunded: false, reason: 'Repair it.' });
    expect(await payments.entries()).toEqual([]);
  });

  it('mails each member of the group their own link, reminds them, and escalates to a manager', async () => {
    const world = testAgents(refunds);
    const run = await world.start(example);
    expect(await mails()).toEqual([
      'To user:ann: Please decide: Refund $80 to customer 4?',
      'To user:bob: Please decide: Refund $80 to customer 4?',
    ]);
    const links = (await outbox.entries()).map(({ text }) => text);
    expect(new Set(links).size).toBe(2);
    await run.approve('refund', ann);
    await world.skip({ hours: 12 });
    expect((await mails()).slice(2)).toEqual(['To user:bob: Reminder: Refund $80 to customer 4?']);
    await expect(run.approve('refund', { by: 'user:manager', groups: [] })).rejects.toThrow(/is not an approver/);
    await world.skip({ hours: 12 });
    expect(await mails()).toContain('To user:manager: Still undecided: Refund $80 to customer 4?');
    await run.approve('refund', { by: 'user:manager', groups: [] });
    expect(await run.result()).toMatchObject({ refunded: true, approvedBy: ['user:ann', 'user:manager'] });
  });

  it('pays nothing when they have not approved within three days', async () => {
    const run = await testAgents(refunds).start(example);
    await run.approve('refund', ann);
    await run.expire('refund');
    expect(await run.result()).toEqual({ refunded: false, reason: 'EXPIRED' });
    expect(await payments.entries()).toEqual([]);
  });

  it('pays once, wherever its process dies around the payment', async () => {
    const world = testAgents(refunds, { deliverTwice: true });
    for (const moment of ['before', 'after', 'recorded']) world.crash({ [moment]: 'pay' });
    const run = await world.start(example);
    await run.approve('refund', ann);
    await run.approve('refund', bob);
    expect(await run.result()).toMatchObject({ refunded: true, paid: 80 });
    expect(world.invocations.filter(({ end }) => end === 'failed')).toHaveLength(3);
    expect(await paidIn(payments)).toEqual([['refund of o-17', 80]]);
  });

  it('retries when the bank is busy', async () => {
    const run = await testAgents(refunds).start({ ...example, order: 'o-18' });
    await run.approve('refund', ann);
    await run.approve('refund', bob);
    expect(await run.result()).toMatchObject({ refunded: true, paid: 35 });
    expect(await paidIn(payments)).toEqual([['refund of o-18', 35]]);
  });

  it('lists the known orders when an order is unknown', async () => {
    const run = await testAgents(refunds).start({ ...example, order: 'o-99' });
    await expect(run.result()).rejects.toThrow(/no order "o-99". Try o-17 or o-18/);
  });
});
