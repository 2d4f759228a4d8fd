import { describe, expect, it } from 'vitest';
import type { Person } from '../../lambda/core/approval.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { decideByToken, findByToken } from '../../lambda/runtime/approvals/by-token.ts';
import { viewApproval } from '../../lambda/runtime/approvals/view.ts';
import type { ApprovalOptions } from '../../lambda/runtime/definition/agent-context.ts';
import type { StandardSchema } from '../../lambda/runtime/definition/standard-schema.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';
import { describeOnEachStorage, gate, headIn, headOf, interceptCommits } from './storages.ts';

const ANN = { title: 'Pay?', approvers: ['user:ann'] } as const;

/** Requests one approval and returns the decision. */
const approvalAgent = (request: Partial<ApprovalOptions<unknown>> = {}) =>
  agent({ name: 'asking', run: (ctx) => ctx.approval('pay', { ...ANN, ...request }) });

const inRun = (world: { agent: Parameters<typeof headOf>[0] }, run = 'r') => world.agent.runtime.contexts.forRun(run);

describe('a decision', () => {
  it('returns to the agent who decided what and when, with the hash of the request', async () => {
    const world = testAgents(approvalAgent({ show: { amount: 12 } }));
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    const [open] = await run.approvals();
    expect(open).toMatchObject({
      name: 'pay',
      title: 'Pay?',
      show: { amount: 12 },
      status: 'PENDING',
      requestNumber: 1,
    });
    await world.skip({ hours: 2 });
    await run.approve('pay', { comment: 'fine' });
    const decision = await run.result();
    expect(decision).toEqual({
      ...{
        approved: true,
        status: 'APPROVED',
        by: ['user:ann'],
        comment: 'fine',
        requestCount: 1,
        contentHash: open?.contentHash,
      },
      at: new Date('2026-01-01T02:00:00Z'),
    });
    expect(decision.contentHash).toMatch(/^[0-9a-f]{64}$/);
  });

  it('can be a rejection', async () => {
    const world = testAgents(approvalAgent());
    const run = await world.start({}, { id: 'r' });
    await run.reject('pay', { comment: 'too much' });
    expect(await run.result()).toMatchObject({ approved: false, status: 'REJECTED', comment: 'too much' });
    expect(await run.approvals()).toEqual([]);
  });

  it('wakes the run once if both people of a quorum approve at the same time', async () => {
    const world = testAgents(approvalAgent({ approvers: ['user:ann', 'user:bob', 'user:eve'], quorum: 2 }));
    const run = await world.start({}, { id: 'r' });
    const yes = (by: Person) => world.agent.run('r').decide({ approval: 'pay', by, answer: 'approve', comment: by });
    await Promise.all([yes('user:ann'), yes('user:bob')]);
    await world.settle();
    const { by, comment, status } = await run.result();
    expect({ by: by.toSorted(), status }).toEqual({ by: ['user:ann', 'user:bob'], status: 'APPROVED' });
    expect(comment?.split('\n').toSorted()).toEqual(['user:ann', 'user:bob']);
    expect((await headOf(world.agent, 'r')).work?.eventCount).toBe(1);
    expect(world.invocations.map(({ end }) => end)).toEqual(['suspended', 'finished']);
  });

  it('does not wake the run while another approval is needed', async () => {
    const world = testAgents(approvalAgent({ approvers: ['group:finance'], quorum: 2 }));
    const run = await world.start({}, { id: 'r' });
    const groups = ['group:finance'];
    await run.approve('pay', { by: 'user:ann', groups });
    await run.approve('pay', { by: 'user:ann', groups });
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    expect(world.invocations).toHaveLength(1);
    await run.approve('pay', { by: 'user:bob', groups });
    expect(await run.result()).toMatchObject({ by: ['user:ann', 'user:bob'] });
  });

  it('returns the recorded one if it is repeated, and conflicts with another one', async () => {
    const world = testAgents(approvalAgent());
    const run = await world.start({}, { id: 'r' });
    const input = { approval: 'pay', by: 'user:ann' } as const;
    await run.decide({ ...input, answer: 'approve' });
    expect(await run.decide({ ...input, answer: 'approve' })).toMatchObject({ status: 'APPROVED' });
    await expect(run.decide({ ...input, answer: 'reject' })).rejects.toMatchObject({ code: 'APPROVAL_DECIDED' });
    await expect(run.decide({ ...input, approval: 'other', answer: 'reject' })).rejects.toMatchObject({
      code: 'APPROVAL_NOT_FOUND',
    });
    expect(world.invocations).toHaveLength(2);
  });

  it('is found before the run suspends if it arrives while the run executes', async () => {
    const { opened, open } = gate();
    const both = agent({
      name: 'both',
      run: (ctx) =>
        ctx.all('both', {
          ask: (branch) => branch.approval('pay', ANN),
          work: (branch) => branch.step('work', () => opened),
        }),
    });
    const storage = interceptCommits(memoryStorage(), async (writes, commit) => {
      await commit();
      const asks = headIn(writes)?.work?.approvals;
      if (asks?.length !== 1 || headIn(writes)?.status !== 'RUNNING') return;
      await world.agent.run('r').decide({ approval: asks[0] ?? '', by: 'user:ann', answer: 'approve' });
      open();
    });
    const world = testAgents(both, { storage });
    const run = await world.start({}, { id: 'r' });
    expect((await run.result()).ask).toMatchObject({ approved: true });
    expect(world.invocations).toHaveLength(1);
  });
});

describe('an approval request', () => {
  it('is written in one transaction with checkpoint and head', async () => {
    const commits: string[][] = [];
    const storage = interceptCommits(memoryStorage(), async (writes, commit) => {
      commits.push(writes.flatMap((write) => ('put' in write ? write.put.key : [])));
      await commit();
    });
    const world = testAgents(approvalAgent(), { storage });
    await world.start({}, { id: 'r' });
    const requestCommit = commits.find((keys) => keys.includes('apay'));
    expect(requestCommit).toEqual(['c0000000003', 'cz', 'apay']);
  });

  it('waits together with another one until both are decided, in any order', async () => {
    const pair = agent({
      name: 'pair',
      run: async (ctx) => {
        const both = await Promise.all([
          ctx.approval('one', ANN),
          ctx.approval('two', { ...ANN, approvers: ['user:bob'] }),
        ]);
        return both.map(({ approved, by }) => [approved, ...by]);
      },
    });
    const world = testAgents(pair);
    const first = await world.start({}, { id: 'a' });
    expect((await first.approvals()).map(({ name }) => name)).toEqual(['one', 'two']);
    await first.approve('two');
    expect(await first.status()).toBe('WAITING_FOR_APPROVAL');
    expect((await first.approvals()).map(({ name }) => name)).toEqual(['one']);
    await first.reject('one');
    expect(await first.result()).toEqual([
      [false, 'user:ann'],
      [true, 'user:bob'],
    ]);
    const second = await world.start({}, { id: 'b' });
    const decide = (approval: string, by: Person) => world.agent.run('b').decide({ approval, by, answer: 'approve' });
    await Promise.all([decide('one', 'user:ann'), decide('two', 'user:bob')]);
    await world.settle();
    expect(await second.result()).toEqual([
      [true, 'user:ann'],
      [true, 'user:bob'],
    ]);
  });

  it('is made once despite crashes and duplicate deliveries', async () => {
    const paying = agent({
      name: 'paying',
      async run(ctx) {
        await ctx.step('prepare', () => 1);
        const { approved } = await ctx.approval('pay', ANN);
        return ctx.step('pay', () => approved);
      },
    });
    const world = testAgents(paying, { deliverTwice: true });
    for (const step of ['prepare', 'pay'])
      for (const moment of ['before', 'after', 'recorded']) world.crash({ [moment]: step });
    const run = await world.start({}, { id: 'r' });
    await run.approve('pay');
    expect(await run.result()).toBe(true);
    expect(world.notifications).toHaveLength(1);
  });

  it('fails the run if it is invalid', async () => {
    const world = testAgents(approvalAgent({ approvers: [] }));
    const run = await world.start({}, { id: 'r' });
    await expect(run.result()).rejects.toMatchObject({ code: 'RUN_FAILED', cause: { code: 'INVALID_INPUT' } });
  });
});

describe('edits', () => {
  const amount: StandardSchema<unknown, { amount: number }> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => {
        const { amount: given } = Object(value) as { amount?: unknown };
        return typeof given === 'number'
          ? { value: { amount: Math.round(given) } }
          : { issues: [{ message: 'must be a number', path: ['amount'] }] };
      },
    },
  };

  it('are parsed by the schema if they match it', async () => {
    const world = testAgents(approvalAgent({ editable: amount }));
    const run = await world.start({}, { id: 'r' });
    await run.approve('pay', { edits: { amount: 9.6 } });
    expect(await run.result()).toMatchObject({ approved: true, edits: { amount: 10 }, requestCount: 1 });
  });

  it('lead to another request with the reason if they do not match the schema', async () => {
    const world = testAgents(approvalAgent({ editable: amount }));
    const run = await world.start({}, { id: 'r' });
    await run.approve('pay', { edits: { amount: 'ten' } });
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    const [again] = await run.approvals();
    expect(again).toMatchObject({ requestNumber: 2, changed: { before: { amount: 'ten' } } });
    expect(again?.changed?.after).toContain('amount: must be a number');
    await run.approve('pay', { edits: { amount: 7 } });
    expect(await run.result()).toMatchObject({ approved: true, edits: { amount: 7 }, requestCount: 2 });
  });

  it('are refused if the approval is not editable', async () => {
    const world = testAgents(approvalAgent());
    const run = await world.start({}, { id: 'r' });
    await expect(run.approve('pay', { edits: { amount: 1 } })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
  });
});

describe('an approval without a decision in time', () => {
  const timed = (request: Partial<ApprovalOptions<unknown>>) => approvalAgent({ timeout: { days: 3 }, ...request });

  it('is rejected by default', async () => {
    const world = testAgents(timed({}));
    const run = await world.start({}, { id: 'r' });
    await world.skip({ days: 2, hours: 23, minutes: 59 });
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    await world.skip({ minutes: 1 });
    expect(await run.result()).toMatchObject({ approved: false, status: 'EXPIRED', by: [], requestCount: 1 });
  });

  it('is approved with `onTimeout: approve`', async () => {
    const world = testAgents(timed({ onTimeout: 'approve' }));
    const run = await world.start({}, { id: 'r' });
    await run.expire('pay');
    expect(await run.result()).toMatchObject({ approved: true, status: 'EXPIRED', by: [] });
  });

  it('fails the run with `onTimeout: fail`, and is requested again on a retry', async () => {
    const world = testAgents(timed({ onTimeout: 'fail' }));
    const run = await world.start({}, { id: 'r' });
    await run.expire('pay');
    await expect(run.result()).rejects.toMatchObject({ code: 'RUN_FAILED', cause: { code: 'APPROVAL_EXPIRED' } });
    await run.retry();
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    await run.approve('pay');
    expect(await run.result()).toMatchObject({ approved: true });
  });

  it('gets more approvers and the whole timeout again with `onTimeout: escalate`', async () => {
    const world = testAgents(timed({ onTimeout: 'escalate', escalateTo: ['user:boss'] }));
    const run = await world.start({}, { id: 'r' });
    await expect(run.approve('pay', { by: 'user:boss' })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
    await world.skip({ days: 3 });
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    const [open] = await run.approvals();
    expect(open).toMatchObject({ approvers: ['user:ann', 'user:boss'], deadline: new Date('2026-01-07T00:00:00Z') });
    expect(world.notifications.map(({ kind }) => kind)).toEqual(['requested', 'escalated']);
    await run.approve('pay', { by: 'user:boss' });
    expect(await run.result()).toMatchObject({ by: ['user:boss'] });
    const second = await world.start({}, { id: 's' });
    await world.skip({ days: 6 });
    expect(await second.result()).toMatchObject({ approved: false, status: 'EXPIRED' });
  });

  it('refuses a decision at the deadline, even before the sweep', async () => {
    const world = testAgents(timed({}));
    const run = await world.start({}, { id: 'r' });
    const [open] = await run.approvals();
    world.clock.moveTo((open?.deadline?.getTime() ?? 0) - 1);
    await world.agent.pause();
    world.clock.moveTo(open?.deadline?.getTime() ?? 0);
    const late = world.agent.run('r').decide({ approval: 'pay', by: 'user:ann', answer: 'approve' });
    await expect(late).rejects.toMatchObject({ code: 'APPROVAL_EXPIRED' });
    await world.agent.unpause();
    await world.skip({ minutes: 2 });
    expect(await run.result()).toMatchObject({ status: 'EXPIRED' });
  });

  it('sends reminders at every interval, and escalates halfway', async () => {
    const world = testAgents(timed({ remindAfter: { hours: 24 }, escalateTo: ['user:boss'] }));
    await world.start({}, { id: 'r' });
    await world.skip({ days: 4 });
    const notified = world.notifications.map(({ kind, links }) => [kind, ...links.map(({ person }) => person)]);
    expect(notified).toEqual([
      ['requested', 'user:ann'],
      ['reminder', 'user:ann'],
      ['escalated', 'user:ann', 'user:boss'],
      ['reminder', 'user:ann', 'user:boss'],
    ]);
  });
});

describe('a notification', () => {
  it('is sent only after the approval is stored, and retried until it succeeds', async () => {
    const seen: string[] = [];
    const notifying = agent({
      name: 'notifying',
      run: (ctx) => ctx.approval('pay', ANN),
      async notify({ approval }) {
        const { status } = await viewApproval(await inRun(world), approval);
        seen.push(`${status} ${await world.agent.run('r').status()}`);
        if (seen.length < 4) throw new Error('The mail server is down.');
      },
    });
    const world = testAgents(notifying);
    await world.start({}, { id: 'r' });
    expect(seen).toEqual(['PENDING WAITING_FOR_APPROVAL']);
    await world.skip({ minutes: 1 });
    expect(seen).toHaveLength(2);
    await world.skip({ minutes: 2 });
    expect(seen).toHaveLength(3);
    await world.skip({ minutes: 4 });
    await world.skip({ days: 30 });
    expect(new Set(seen)).toEqual(new Set(['PENDING WAITING_FOR_APPROVAL']));
    expect(seen).toHaveLength(4);
  });

  it('is not retried after the approval has ended', async () => {
    let tries = 0;
    const notifying = agent({
      name: 'notifying',
      run: (ctx) => ctx.approval('pay', ANN),
      notify() {
        tries += 1;
        throw new Error('The mail server is down.');
      },
    });
    const world = testAgents(notifying);
    const run = await world.start({}, { id: 'r' });
    await run.approve('pay');
    await world.skip({ days: 1 });
    expect(tries).toBe(1);
  });

  it('has a link for each person, group members included; after a decision, no link can decide', async () => {
    const grouped = agent({
      name: 'grouped',
      run: (ctx) => ctx.approval('pay', { ...ANN, approvers: ['user:ann', 'group:finance'] }),
      members: (group) => (group === 'group:finance' ? ['user:ann', 'user:bob'] : []),
      notify: () => {},
    });
    const world = testAgents(grouped);
    const run = await world.start({}, { id: 'r' });
    const links = world.notifications[0]?.links ?? [];
    expect(links.map(({ person }) => person)).toEqual(['user:ann', 'user:bob']);
    const tokens = links.map(({ url }) => url.replace('https://approvals.test/', ''));
    expect(new Set(tokens).size).toBe(2);
    const context = await inRun(world);
    await decideByToken(context, tokens[1] ?? '', { answer: 'approve', comment: 'by link' });
    await world.skip({ minutes: 2 });
    expect(await run.result()).toMatchObject({ approved: true, by: ['user:bob'], comment: 'by link' });
    expect((await findByToken(context, tokens[0] ?? '')).approval.meta).toMatchObject({ status: 'APPROVED' });
    const other = decideByToken(context, tokens[0] ?? '', { answer: 'reject' });
    await expect(other).rejects.toMatchObject({ code: 'APPROVAL_DECIDED' });
    await expect(findByToken(context, 'forged')).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
  });
});

describe('rechecked facts', () => {
  /** An agent that books at the approved price; `prices` are the prices that it finds, in order. */
  function booking(prices: number[], request: Partial<ApprovalOptions<unknown>> = {}) {
    const booked: unknown[] = [];
    const travel = agent({
      name: 'travel',
      async run(ctx) {
        const price = await ctx.step('search', () => prices.shift());
        const decision = await ctx.approval('book', {
          title: (facts) => `Book for $${facts.price}?`,
          approvers: ['user:ann'],
          facts: { price },
          recheck: () => ({ price: prices.shift() }),
          ...request,
        });
        if (decision.approved) await ctx.step('book', () => void booked.push(decision.facts?.price));
        return decision;
      },
    });
    return { travel, booked };
  }

  it('let the run continue if they are the same', async () => {
    const { travel, booked } = booking([1200, 1200]);
    const run = await testAgents(travel).start({}, { id: 'r' });
    await run.approve('book');
    expect(await run.result()).toMatchObject({ approved: true, requestCount: 1, facts: { price: 1200 } });
    expect(booked).toEqual([1200]);
  });

  it('lead to another request with both values if they have changed', async () => {
    const { travel, booked } = booking([1200, 1500, 1500]);
    const world = testAgents(travel);
    const run = await world.start({}, { id: 'r' });
    const [first] = await run.approvals();
    await run.approve('book');
    expect(booked).toEqual([]);
    const [again] = await run.approvals();
    expect(again).toMatchObject({
      ...{ requestNumber: 2, title: 'Book for $1500?', facts: { price: 1500 } },
      changed: { before: { price: 1200 }, after: { price: 1500 } },
    });
    expect(again?.contentHash).not.toBe(first?.contentHash);
    const stale = run.approve('book', { contentHash: first?.contentHash });
    await expect(stale).rejects.toMatchObject({ code: 'APPROVAL_CHANGED' });
    await run.approve('book');
    expect(await run.result()).toMatchObject({ approved: true, requestCount: 2, facts: { price: 1500 } });
    expect(booked).toEqual([1500]);
  });

  it('can differ within a tolerance', async () => {
    const same: ApprovalOptions['same'] = (before, now) => Number(now.price) <= Number(before.price) * 1.02;
    const { travel, booked } = booking([1000, 1019], { same });
    const run = await testAgents(travel).start({}, { id: 'r' });
    await run.approve('book');
    expect(await run.result()).toMatchObject({ approved: true, requestCount: 1 });
    expect(booked).toEqual([1000]);
  });

  it('lead to at most `maxRequests` requests if they keep changing', async () => {
    const { travel, booked } = booking([1, 2, 3, 4, 5], { maxRequests: 2 });
    const run = await testAgents(travel).start({}, { id: 'r' });
    await run.approve('book');
    await run.approve('book');
    expect(await run.result()).toMatchObject({ approved: false, status: 'CHANGED', requestCount: 2 });
    expect(booked).toEqual([]);
  });

  it('are not read after a rejection', async () => {
    const { travel } = booking([1]);
    const run = await testAgents(travel).start({}, { id: 'r' });
    await run.reject('book');
    expect(await run.result()).toMatchObject({ approved: false, status: 'REJECTED' });
  });

  it('are read once, despite crashes', async () => {
    const { travel, booked } = booking([1200, 1500, 1500, 7, 7]);
    const world = testAgents(travel, { deliverTwice: true });
    for (const step of ['book/recheck', 'book~2/recheck']) world.crash({ recorded: step });
    const run = await world.start({}, { id: 'r' });
    await run.approve('book');
    await run.approve('book');
    expect(await run.result()).toMatchObject({ approved: true, requestCount: 2, facts: { price: 1500 } });
    expect(booked).toEqual([1500]);
  });
});

describe('an approval that is no longer needed', () => {
  const withdrawn = async (world: Parameters<typeof inRun>[0], id: string) => {
    const { status, withdrawalReason } = await viewApproval(await inRun(world), id);
    return { status, withdrawalReason };
  };

  it('is withdrawn when its branch is abandoned', async () => {
    const racing = agent({
      name: 'racing',
      async run(ctx) {
        await ctx.all('race', [(branch) => branch.approval('pay', ANN), (branch) => branch.waitForSignal('enough')], {
          minSuccessful: 1,
        });
        await ctx.sleep('after', { days: 1 });
      },
    });
    const world = testAgents(racing);
    const run = await world.start({}, { id: 'r' });
    await run.signal('enough');
    expect(await run.status()).toBe('SLEEPING');
    expect(await withdrawn(world, 'race[0]/pay')).toEqual({
      ...{ status: 'WITHDRAWN', withdrawalReason: 'It is no longer needed.' },
    });
    expect((await headOf(world.agent, 'r')).work?.approvals ?? []).toEqual([]);
    await expect(run.decide({ approval: 'race[0]/pay', by: 'user:ann', answer: 'approve' })).rejects.toMatchObject({
      code: 'APPROVAL_WITHDRAWN',
    });
  });

  it('is withdrawn when its branch is abandoned before the replay reaches the request', async () => {
    const racing = agent({
      name: 'racing',
      async run(ctx) {
        await ctx.all(
          'race',
          [
            async (branch) => {
              for (let i = 0; i < 5; i++) await branch.step('prepare', () => i);
              return branch.approval('pay', ANN);
            },
            (branch) => branch.sleep('enough', { hours: 1 }),
          ],
          { minSuccessful: 1 },
        );
        await ctx.sleep('after', { days: 1 });
      },
    });
    const world = testAgents(racing);
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    await world.skip({ hours: 1 });
    expect(await run.status()).toBe('SLEEPING');
    expect(await withdrawn(world, 'race[0]/pay')).toMatchObject({ status: 'WITHDRAWN' });
  });

  it('is withdrawn when its turn ends without waiting for it', async () => {
    const turning = agent({
      name: 'turning',
      state: { initial: () => ({ turn: 1 }) },
      async turn(ctx, state: { turn: number }) {
        if (state.turn === 1) await Promise.race([ctx.approval('pay', ANN), ctx.sleep('enough', { hours: 1 })]);
        else await ctx.sleep('after', { days: 1 });
        return { turn: 2 };
      },
    });
    const world = testAgents(turning);
    const run = await world.start({}, { id: 'r' });
    await world.skip({ hours: 1 });
    expect(await run.status()).toBe('SLEEPING');
    expect(await run.approvals()).toEqual([]);
    expect(await withdrawn(world, 'turn 1/pay')).toMatchObject({ status: 'WITHDRAWN' });
  });

  it('is withdrawn in the transaction that ends the run when the agent returns without waiting for it', async () => {
    const hasty = agent({
      name: 'hasty',
      run: (ctx) => Promise.race([ctx.approval('pay', ANN), ctx.waitForSignal('enough')]),
    });
    let last: readonly string[] = [];
    const storage = interceptCommits(memoryStorage(), async (writes, commit) => {
      if (headIn(writes)?.status === 'SUCCEEDED')
        last = writes.flatMap((write) => ('put' in write ? write.put.key : []));
      await commit();
    });
    const world = testAgents(hasty, { storage });
    const run = await world.start({}, { id: 'r' });
    await run.signal('enough', 'yes');
    expect(await run.result()).toBe('yes');
    expect(last).toContain('apay');
    expect(await withdrawn(world, 'pay')).toMatchObject({ status: 'WITHDRAWN' });
    expect(world.notifications).toHaveLength(1);
  });

  it('is withdrawn without a notification when the agent returns at once', async () => {
    const careless = agent({
      name: 'careless',
      async run(ctx) {
        void ctx.approval('pay', ANN);
        return ctx.step('work', () => 'done');
      },
    });
    const world = testAgents(careless);
    const run = await world.start({}, { id: 'r' });
    expect(await run.result()).toBe('done');
    expect(await withdrawn(world, 'pay')).toMatchObject({ status: 'WITHDRAWN' });
    const atOnce = testAgents(agent({ name: 'careless', run: (ctx) => void ctx.approval('pay', ANN) }));
    await atOnce.start({}, { id: 'r' });
    expect(await withdrawn(atOnce, 'pay')).toMatchObject({ status: 'WITHDRAWN' });
    expect(atOnce.notifications).toEqual([]);
  });

  it('is withdrawn when the agent throws', async () => {
    const failing = agent({
      name: 'failing',
      run: (ctx) =>
        Promise.all([
          ctx.approval('pay', ANN),
          ctx.waitForSignal('fail').then(() => Promise.reject(new Error('failed'))),
        ]),
    });
    const world = testAgents(failing);
    const run = await world.start({}, { id: 'r' });
    await run.signal('fail');
    expect(await run.status()).toBe('FAILED');
    expect(await withdrawn(world, 'pay')).toMatchObject({ status: 'WITHDRAWN' });
  });
});

describeOnEachStorage('approvals in runs', (open) => {
  it('are requested, decided by two people at the same time, rechecked and requested again', async () => {
    const prices = [1200, 1500, 1500];
    const travel = agent({
      name: 'travel',
      run: async (ctx) => {
        const price = await ctx.step('search', () => prices.shift());
        return ctx.approval('book', {
          ...{ title: 'Book?', approvers: ['user:ann', 'user:bob'], quorum: 2, timeout: { days: 3 } },
          facts: { price },
          recheck: () => ({ price: prices.shift() }),
        });
      },
    });
    const world = testAgents(travel, { storage: await open(), deliverTwice: true });
    const run = await world.start({}, { id: 'r' });
    const decide = (approval: string, by: Person) => world.agent.run('r').decide({ approval, by, answer: 'approve' });
    await Promise.all([decide('book', 'user:ann'), decide('book', 'user:bob')]);
    await world.settle();
    const [again] = await run.approvals();
    expect(again).toMatchObject({ changed: { before: { price: 1200 }, after: { price: 1500 } } });
    await Promise.all([decide('book~2', 'user:ann'), decide('book~2', 'user:bob')]);
    await world.settle();
    expect(await run.result()).toMatchObject({ approved: true, requestCount: 2, facts: { price: 1500 } });
    const late = await world.start({}, { id: 'late' });
    await late.expire('book');
    expect(await late.result()).toMatchObject({ approved: false, status: 'EXPIRED' });
  });
});
