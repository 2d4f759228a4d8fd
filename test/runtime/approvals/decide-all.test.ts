import { describe, expect, it } from 'vitest';
import type { Approver } from '../../../lambda/core/approval.ts';
import { agent, approvals, type DecideAllInput } from '../../../lambda/index.ts';
import { MAX_DECIDED_TOGETHER } from '../../../lambda/runtime/approvals/decide-all.ts';
import { memoryStorage } from '../../../lambda/storage/memory.ts';
import type { Storage } from '../../../lambda/storage/ports.ts';
import { testAgents } from '../../../lambda/testing.ts';
import { counted, describeOnEachStorage, interceptCommits } from '../storages.ts';

interface Refund {
  readonly amount?: number;
  readonly approvers?: readonly Approver[];
  readonly quorum?: number;
  readonly name?: string;
  readonly branches?: number;
}

const refunds = agent({
  name: 'refunds',
  async run(ctx, { amount = 80, approvers = ['user:ann'], quorum = 1, name = 'refund', branches }: Refund) {
    const request = { title: `Refund $${amount}?`, facts: { amount }, approvers, quorum, timeout: { days: 1 } };
    if (branches !== undefined)
      return ctx.map(
        'orders',
        Array.from({ length: branches }, (_, i) => i),
        async (branch) => {
          const { approved } = await branch.approval(name, request);
          return approved;
        },
      );
    const { approved, by, comment } = await ctx.approval(name, { ...request, editable: true });
    return { approved, by, comment };
  },
});

/** Runs that wait for an approval, and what was shown for each. */
async function waiting(inputs: Readonly<Record<string, Refund>>, storage: Storage = memoryStorage()) {
  const world = testAgents(refunds, { storage });
  for (const [id, input] of Object.entries(inputs)) await world.start(input, { id });
  const portal = approvals({ storage, clock: world.clock });
  const shown = async (...runs: readonly string[]) => {
    const found = await Promise.all(
      (runs.length > 0 ? runs : Object.keys(inputs)).map((id) => world.run(id).approvals()),
    );
    return found.flat().map(({ run, id, contentHash }) => ({ run, approval: id, contentHash }));
  };
  const vote = async (input: Partial<DecideAllInput> = {}) =>
    portal.decideAll({ by: 'user:ann', answer: 'approve', approvals: await shown(), ...input });
  return { world, portal, shown, vote };
}

/** What came of each approval: its status and whether the vote is new, or the code of the error. */
const summary = (results: Awaited<ReturnType<Awaited<ReturnType<typeof waiting>>['vote']>>) =>
  results.map((result) =>
    'view' in result
      ? `${result.run}: ${result.view.status}${result.isNew ? '' : ', as before'}`
      : `${result.run}: ${(result.error as { code?: string }).code}`,
  );

describeOnEachStorage('several approvals decided together', (open) => {
  it('are each recorded with the comment, and each run resumes', async () => {
    const { world, vote } = await waiting({ a: { amount: 1 }, b: { amount: 2 }, c: { amount: 3 } }, await open());
    expect(summary(await vote({ comment: 'All small.' }))).toEqual(['a: APPROVED', 'b: APPROVED', 'c: APPROVED']);
    await world.skip({ minutes: 2 });
    for (const id of ['a', 'b', 'c'])
      expect(await world.run(id).result()).toEqual({ approved: true, by: ['user:ann'], comment: 'All small.' });
  });

  it('report each one that cannot be decided, and decide the others', async () => {
    const inputs = {
      fine: {},
      decided: {},
      proposed: { quorum: 2, approvers: ['user:ann', 'user:bob'] },
      bobs: { approvers: ['user:bob'] },
      gone: {},
    } as const;
    const { world, portal, shown, vote } = await waiting(inputs, await open());
    const list = await shown();
    await portal.decide('decided', { approval: 'refund', by: 'user:ann', answer: 'reject' });
    await portal.decide('proposed', { approval: 'refund', by: 'user:bob', answer: 'approve', edits: { amount: 79 } });
    await portal.withdraw('gone', 'refund', 'Paid elsewhere.');
    const results = await vote({ approvals: [...list, { run: 'none', approval: 'refund', contentHash: 'x' }] });
    expect(summary(results)).toEqual([
      'fine: APPROVED',
      'decided: APPROVAL_DECIDED',
      'proposed: APPROVAL_CHANGED',
      'bobs: NOT_AN_APPROVER',
      'gone: APPROVAL_WITHDRAWN',
      'none: APPROVAL_NOT_FOUND',
    ]);
    expect(await world.run('bobs').approvals()).toMatchObject([{ votes: [] }]);
  });

  it('record nothing twice if they are sent again, and finish what failed', async () => {
    const { world, shown, vote } = await waiting(
      { a: {}, b: { quorum: 2, approvers: ['user:ann', 'user:bob'] } },
      await open(),
    );
    const list = await shown();
    expect(summary(await vote({ approvals: list }))).toEqual(['a: APPROVED', 'b: PENDING']);
    const before = await world.run('b').approvals();
    expect(summary(await vote({ approvals: list }))).toEqual(['a: APPROVED, as before', 'b: PENDING, as before']);
    expect(await world.run('b').approvals()).toEqual(before);
    expect(summary(await vote({ approvals: list, by: 'user:bob' }))).toEqual(['a: NOT_AN_APPROVER', 'b: APPROVED']);
    expect(summary(await vote({ approvals: list, answer: 'reject' }))).toEqual([
      'a: APPROVAL_DECIDED',
      'b: APPROVAL_DECIDED',
    ]);
  });

  it('can be many of one run, which are decided one after another', async () => {
    const { world, shown, vote } = await waiting({ many: { branches: 30 } }, await open());
    const list = await shown();
    expect(list).toHaveLength(30);
    const results = await vote({ approvals: list });
    expect(results.filter((result) => 'view' in result && result.isNew)).toHaveLength(30);
    await world.skip({ minutes: 2 });
    expect(await world.run('many').result()).toEqual(Array.from({ length: 30 }, () => true));
  });

  it('are each decided once by two people who decide all of them at the same time', async () => {
    const inputs = Object.fromEntries(
      Array.from({ length: 12 }, (_, i) => [`r${i}`, { approvers: ['user:ann', 'user:bob'] } as const]),
    );
    const { shown, vote } = await waiting(inputs, await open());
    const list = await shown();
    const [ann, bob] = await Promise.all([
      vote({ approvals: list, answer: 'approve' }),
      vote({ approvals: list.toReversed(), answer: 'reject', by: 'user:bob' }),
    ]);
    const decided = [...summary(ann), ...summary(bob)];
    expect(decided.filter((each) => /: (APPROVED|REJECTED)$/.test(each))).toHaveLength(12);
    expect(decided.filter((each) => each.endsWith(': APPROVAL_DECIDED'))).toHaveLength(12);
  });
});

describe('a list of approvals to decide', () => {
  it('is refused with nothing decided if it is empty, too long, malformed, or names an approval twice', async () => {
    const { world, shown, vote } = await waiting({ a: {}, b: {} });
    const [first, second] = await shown();
    if (!first || !second) throw new Error('Both runs wait.');
    const many = Array.from({ length: MAX_DECIDED_TOGETHER + 1 }, (_, i) => ({ ...first, run: `r${i}` }));
    for (const [list, message] of [
      [[], 'a list of 1 to 50 approvals'],
      ['a', 'a list of 1 to 50 approvals'],
      [many, 'found "51 items"'],
      [[first, second, { ...first }], 'names each approval once; found "[\\"a\\",\\"refund\\"] twice"'],
      [[first, { ...first, contentHash: 'other' }], 'names each approval once'],
      [[first, { run: 'b', approval: 'refund' }], '{ run, approval, contentHash }'],
      [[first, { ...second, contentHash: '' }], '{ run, approval, contentHash }'],
      [[first, { ...second, run: 7 }], '{ run, approval, contentHash }'],
      [[first, null], '{ run, approval, contentHash }'],
    ] as const)
      await expect(vote({ approvals: list as never })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining(message),
      });
    for (const wrong of [
      { answer: 'maybe' },
      { by: 'ann' },
      { by: 'group:finance' },
      { groups: ['finance'] },
      { comment: 'x'.repeat(10_001) },
    ])
      await expect(vote(wrong as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    for (const id of ['a', 'b']) expect(await world.run(id).approvals()).toMatchObject([{ votes: [] }]);
  });

  it('is refused with nothing decided if its approvals are of several kinds', async () => {
    const { world, vote } = await waiting({ a: {}, b: { name: 'bonus' } });
    await expect(vote()).rejects.toMatchObject({ message: expect.stringContaining('of one kind') });
    for (const id of ['a', 'b']) expect(await world.run(id).approvals()).toMatchObject([{ votes: [] }]);
  });

  it('cannot reach an approval of another tenant', async () => {
    const storage = memoryStorage();
    const { shown, world } = await waiting({ a: {} }, storage);
    const other = approvals({ storage, clock: world.clock, tenant: 'other' });
    const results = await other.decideAll({ by: 'user:ann', answer: 'approve', approvals: await shown() });
    expect(summary(results)).toEqual(['a: APPROVAL_NOT_FOUND']);
    expect(await world.run('a').approvals()).toMatchObject([{ votes: [] }]);
  });

  it('expires item by item', async () => {
    const { world, shown, vote } = await waiting({ a: {} });
    await world.skip({ hours: 23 });
    await world.start({}, { id: 'b' });
    const list = await shown('a', 'b');
    world.clock.moveTo(world.clock.now() + 3_600_000);
    expect(summary(await vote({ approvals: list }))).toEqual(['a: APPROVAL_EXPIRED', 'b: APPROVED']);
  });

  it('reports a failure of the storage for its item only, and finishes when it is sent again', async () => {
    const storage = memoryStorage();
    const { world, shown } = await waiting({ a: {}, b: {}, c: {} }, storage);
    let isBroken = true;
    const failing = interceptCommits(storage, async (writes, commit) => {
      if (isBroken && writes.some((write) => 'put' in write && write.put.partition.endsWith('/b')))
        throw new TypeError('The socket is closed.');
      await commit();
    });
    const portal = approvals({ storage: failing, clock: world.clock });
    const input = { by: 'user:ann', answer: 'approve', approvals: await shown() } as const;
    const first = await portal.decideAll(input);
    expect(first.map((result) => ('view' in result ? result.isNew : String(result.error)))).toEqual([
      true,
      'TypeError: The socket is closed.',
      true,
    ]);
    isBroken = false;
    expect(summary(await portal.decideAll(input))).toEqual([
      'a: APPROVED, as before',
      'b: APPROVED',
      'c: APPROVED, as before',
    ]);
  });

  it('starts no decision after 15 seconds, and decides the rest when it is sent again', async () => {
    const storage = memoryStorage();
    const inputs = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`r${i}`, {}]));
    const { world, shown } = await waiting(inputs, storage);
    const slow = interceptCommits(storage, async (_, commit) => {
      world.clock.moveTo(world.clock.now() + 1000);
      await commit();
    });
    const portal = approvals({ storage: slow, clock: world.clock });
    const input = { by: 'user:ann', answer: 'approve', approvals: await shown() } as const;
    const first = summary(await portal.decideAll(input));
    expect(first.filter((each) => each.endsWith('TIMED_OUT')).length).toBeGreaterThan(0);
    expect(first.filter((each) => each.endsWith('APPROVED')).length).toBeGreaterThanOrEqual(15);
    expect(summary(await portal.decideAll(input)).filter((each) => !each.includes('APPROVED'))).toEqual([]);
  });

  it('is decided for at most eight runs at the same time', async () => {
    const storage = memoryStorage();
    const inputs = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`r${i}`, {}]));
    const { world, shown } = await waiting(inputs, storage);
    let current = 0;
    let most = 0;
    const watched = interceptCommits(storage, async (_, commit) => {
      most = Math.max(most, ++current);
      await new Promise((resolve) => setImmediate(resolve));
      await commit();
      current -= 1;
    });
    const portal = approvals({ storage: watched, clock: world.clock });
    await portal.decideAll({ by: 'user:ann', answer: 'approve', approvals: await shown() });
    expect(most).toBe(8);
  });

  it('reads each approval once if it is the only one of its run', async () => {
    const storage = memoryStorage();
    const { world, shown } = await waiting({ a: {}, b: {} }, storage);
    const { storage: watched, calls } = counted(storage);
    const portal = approvals({ storage: watched, clock: world.clock });
    await portal.decideAll({ by: 'user:ann', answer: 'approve', approvals: await shown() });
    expect(calls).toMatchObject({ read: 2, commit: 2 });
  });

  it('writes each decision once if all are of one run, without conflicts among them', async () => {
    const storage = memoryStorage();
    const { world, shown } = await waiting({ many: { branches: 10 } }, storage);
    const { storage: watched, calls } = counted(storage);
    const portal = approvals({ storage: watched, clock: world.clock });
    await portal.decideAll({ by: 'user:ann', answer: 'approve', approvals: await shown() });
    expect(calls.commit).toBe(10);
  });
});
