import { expect, it } from 'vitest';
import type { ApprovalDocument } from '../../lambda/operator/approval-document.ts';
import { describeOnEachStorage } from '../runtime/storages.ts';
import { type TokenResponse, type TokenScene, tokenScene } from './token-scene.ts';

const TIMES = 100;
// Where it is tried more than once.
const FEWER = 30;
const RUN = 'bill 1';

type Answer = 'approve' | 'reject';

/** An answer that somebody gave, and what they were told. */
interface Given {
  readonly by: string;
  readonly answer: Answer;
  readonly told: TokenResponse;
}

describeOnEachStorage('100 answers at the same time', (open) => {
  async function loaded(quorum = 1): Promise<TokenScene> {
    const scene = tokenScene(await open());
    await scene.start(RUN, { quorum });
    return scene;
  }

  it('that are the same are one', async () => {
    const scene = await loaded();
    const token = await scene.link(RUN);
    const given = await giveAll(scene, (i) => ({ token, by: 'user:ann', answer: 'approve', asForm: i % 2 === 0 }));
    await expectOneTruth(scene, given, [200, 303]);
    expect(await scene.record(RUN)).toMatchObject({
      status: 'APPROVED',
      votes: [{ by: 'user:ann', answer: 'approve' }],
    });
  });

  it('by many links of one person are one', async () => {
    const scene = await loaded();
    const tokens = await Promise.all(Array.from({ length: TIMES }, () => scene.link(RUN)));
    const given = await giveAll(scene, (i) => ({ token: tokens[i] ?? '', by: 'user:ann', answer: 'approve' }));
    await expectOneTruth(scene, given, [200]);
  });

  it('that differ are the one that was first, and the others are told which', async () => {
    const scene = await loaded();
    const token = await scene.link(RUN);
    const given = await giveAll(scene, (i) => ({
      token,
      by: 'user:ann',
      answer: i % 2 ? 'approve' : 'reject',
      asForm: i % 3 === 0,
    }));
    await expectOneTruth(scene, given, [200, 303, 409]);
  });

  it('of two people who disagree are one decision', async () => {
    const scene = await loaded();
    const [ann, bob] = [await scene.link(RUN, 'user:ann'), await scene.link(RUN, 'user:bob')];
    const given = await giveAll(scene, (i) =>
      i % 2 ? { token: ann, by: 'user:ann', answer: 'approve' } : { token: bob, by: 'user:bob', answer: 'reject' },
    );
    await expectOneTruth(scene, given, [200, 409]);
  });

  it('of two people who are both needed are two votes and one decision', async () => {
    const scene = await loaded(2);
    const [ann, bob] = [await scene.link(RUN, 'user:ann'), await scene.link(RUN, 'user:bob')];
    const given = await giveAll(scene, (i) =>
      i % 2 ? { token: ann, by: 'user:ann', answer: 'approve' } : { token: bob, by: 'user:bob', answer: 'approve' },
    );
    await expectOneTruth(scene, given, [200]);
    expect((await scene.record(RUN)).votes.map(({ by }) => by).toSorted()).toEqual(['user:ann', 'user:bob']);
  });

  it('of two people who are both needed and differ are refused as one', async () => {
    const scene = await loaded(2);
    const [ann, bob] = [await scene.link(RUN, 'user:ann'), await scene.link(RUN, 'user:bob')];
    const given = await giveAll(scene, (i) =>
      i % 2
        ? { token: ann, by: 'user:ann', answer: i % 3 ? 'approve' : 'reject' }
        : { token: bob, by: 'user:bob', answer: 'approve' },
    );
    await expectOneTruth(scene, given, [200, 409]);
  });

  it.each([
    ['a cancel', (scene: TokenScene) => scene.operator.cancel(RUN, 'no longer')],
    ['a withdrawal', (scene: TokenScene) => scene.operator.withdraw(RUN, 'pay', 'no longer')],
  ])('and %s are a decision or none', async (_, end) => {
    for (const after of [0, 3, FEWER - 1]) {
      const scene = await loaded();
      const token = await scene.link(RUN);
      const given = await giveAll(scene, () => ({ token, by: 'user:ann', answer: 'approve' }), {
        times: FEWER,
        beside: async (i) => i === after && (await end(scene)),
      });
      await expectOneTruth(scene, given, [200, 410]);
    }
  });

  it('and a deadline that passes meanwhile are a decision in time or none', async () => {
    const seen = new Set<string>();
    for (const left of [2, 40, 400, 2_000]) {
      const scene = await loaded();
      const token = await scene.link(RUN);
      const { deadline } = await scene.record(RUN);
      scene.clock.moveTo(Number(deadline) - left);
      scene.clock.tickMs = 1;
      const given = await giveAll(scene, () => ({ token, by: 'user:ann', answer: 'approve' }), {
        times: FEWER,
        beside: async (i) => i % 10 === 0 && (await scene.sweep()),
      });
      scene.clock.tickMs = 0;
      await expectOneTruth(scene, given, [200, 410]);
      const { status, endedAt } = await scene.record(RUN);
      if (status === 'APPROVED') expect(Number(endedAt)).toBeLessThan(Number(deadline));
      seen.add(status);
    }
    expect([...seen].toSorted()).toEqual(['APPROVED', 'EXPIRED']);
  });
});

interface Giving {
  readonly token: string;
  readonly by: string;
  readonly answer: Answer;
  readonly asForm?: boolean;
}

/** Has all answers given at the same time, and beside each of them something else happen. */
async function giveAll(
  scene: TokenScene,
  giving: (i: number) => Giving,
  { times = TIMES, beside = async () => undefined }: { times?: number; beside?: (i: number) => Promise<unknown> } = {},
): Promise<readonly Given[]> {
  const all = Array.from({ length: times }, async (_, i): Promise<Given> => {
    const { token, by, answer, asForm } = giving(i);
    const [told] = await Promise.all([asForm ? scene.submit(token, answer) : scene.answer(token, answer), beside(i)]);
    return { by, answer, told };
  });
  return Promise.all(all);
}

/** One decision is recorded, what everybody was told is what is recorded, and the run does what was decided, once. */
async function expectOneTruth(scene: TokenScene, given: readonly Given[], statuses: readonly number[]): Promise<void> {
  const recorded = await scene.record(RUN);
  expect(recorded.status).not.toBe('PENDING');
  expect(new Set(recorded.votes.map(({ by }) => by)).size).toBe(recorded.votes.length);
  for (const each of given) {
    expect(statuses).toContain(each.told.status);
    expectTruth(each, recorded);
  }
  const isYes = recorded.status === 'APPROVED';
  expect(recorded.votes.filter(({ answer }) => answer === 'reject').length > 0).toBe(recorded.status === 'REJECTED');
  await scene.settle();
  // What a late answer woke is found when somebody looks.
  scene.clock.moveTo(scene.clock.now() + 3_600_000);
  await scene.sweep();
  await scene.settle();
  const { status, result } = await scene.operator.run(RUN);
  if (status === 'CANCELLED') expect(scene.paid.size).toBe(0);
  else
    expect({ status, result, paid: [...scene.paid] }).toEqual({
      status: 'SUCCEEDED',
      result: isYes,
      paid: isYes ? [[RUN, 1]] : [],
    });
  expect(await scene.record(RUN)).toEqual(recorded);
  expect(scene.logged.filter((line) => scene.tokens.some((token) => line.includes(token)))).toEqual([]);
}

/** That what somebody was told does not contradict what is recorded. */
function expectTruth({ by, answer, told }: Given, { status, outcome, votes }: ApprovalDocument): void {
  const own = votes.find((vote) => vote.by === by);
  if (told.status === 410) expect(['EXPIRED', 'WITHDRAWN']).toContain(status);
  if (told.status === 409) expect(own?.answer ?? outcome).not.toBe(answer);
  if (told.status !== 200 && told.status !== 303) return;
  expect(own?.answer ?? outcome).toBe(answer);
  expect(['APPROVED', 'REJECTED']).toContain(status);
  if (told.approval) expect(['PENDING', status]).toContain(told.approval.status);
}
