import { expect, it } from 'vitest';
import type { ApprovalDocument } from '../../lambda/operator/approval-document.ts';
import { repeats } from '../deep.ts';
import { describeOnEachStorage } from '../runtime/storages.ts';
import { type TokenResponse, type TokenScene, tokenScene } from './token-scene.ts';

const TIMES = repeats(25, 100);
// For tests that repeat the race.
const FEWER_TIMES = repeats(10, 30);
const RUN = 'bill 1';

type Answer = 'approve' | 'reject';

/** A decision that was sent, and its response. */
interface GivenDecision {
  readonly by: string;
  readonly answer: Answer;
  readonly response: TokenResponse;
}

describeOnEachStorage(`${TIMES} concurrent decisions`, (open) => {
  async function createScene(quorum = 1): Promise<TokenScene> {
    const scene = tokenScene(await open());
    await scene.start(RUN, { quorum });
    return scene;
  }

  it('count as one when they are the same', async () => {
    const scene = await createScene();
    const token = await scene.link(RUN);
    const given = await decideAll(scene, (i) => ({ token, by: 'user:ann', answer: 'approve', asForm: i % 2 === 0 }));
    await expectOneDecision(scene, given, [200, 303]);
    expect(await scene.record(RUN)).toMatchObject({
      status: 'APPROVED',
      votes: [{ by: 'user:ann', answer: 'approve' }],
    });
  });

  it('count as one when one person sends them through many links', async () => {
    const scene = await createScene();
    const tokens = await Promise.all(Array.from({ length: TIMES }, () => scene.link(RUN)));
    const given = await decideAll(scene, (i) => ({ token: tokens[i] ?? '', by: 'user:ann', answer: 'approve' }));
    await expectOneDecision(scene, given, [200]);
  });

  it('keep the first one when they differ, and report a conflict to the others', async () => {
    const scene = await createScene();
    const token = await scene.link(RUN);
    const given = await decideAll(scene, (i) => ({
      token,
      by: 'user:ann',
      answer: i % 2 ? 'approve' : 'reject',
      asForm: i % 3 === 0,
    }));
    await expectOneDecision(scene, given, [200, 303, 409]);
  });

  it('settle the approval once when two people disagree', async () => {
    const scene = await createScene();
    const [ann, bob] = [await scene.link(RUN, 'user:ann'), await scene.link(RUN, 'user:bob')];
    const given = await decideAll(scene, (i) =>
      i % 2 ? { token: ann, by: 'user:ann', answer: 'approve' } : { token: bob, by: 'user:bob', answer: 'reject' },
    );
    await expectOneDecision(scene, given, [200, 409]);
  });

  it('count as two votes when a quorum needs both people', async () => {
    const scene = await createScene(2);
    const [ann, bob] = [await scene.link(RUN, 'user:ann'), await scene.link(RUN, 'user:bob')];
    const given = await decideAll(scene, (i) =>
      i % 2 ? { token: ann, by: 'user:ann', answer: 'approve' } : { token: bob, by: 'user:bob', answer: 'approve' },
    );
    await expectOneDecision(scene, given, [200]);
    expect((await scene.record(RUN)).votes.map(({ by }) => by).toSorted()).toEqual(['user:ann', 'user:bob']);
  });

  it('settle the approval once when a quorum needs both people and they disagree', async () => {
    const scene = await createScene(2);
    const [ann, bob] = [await scene.link(RUN, 'user:ann'), await scene.link(RUN, 'user:bob')];
    const given = await decideAll(scene, (i) =>
      i % 2
        ? { token: ann, by: 'user:ann', answer: i % 3 ? 'approve' : 'reject' }
        : { token: bob, by: 'user:bob', answer: 'approve' },
    );
    await expectOneDecision(scene, given, [200, 409]);
  });

  it.each([
    ['a cancel', (scene: TokenScene) => scene.operator.cancel(RUN, 'no longer')],
    ['a withdrawal', (scene: TokenScene) => scene.operator.withdraw(RUN, 'pay', 'no longer')],
  ])('either settle the approval or are refused when they race with %s', async (_, end) => {
    for (const after of [0, 3, FEWER_TIMES - 1]) {
      const scene = await createScene();
      const token = await scene.link(RUN);
      const given = await decideAll(scene, () => ({ token, by: 'user:ann', answer: 'approve' }), {
        times: FEWER_TIMES,
        alongside: async (i) => i === after && (await end(scene)),
      });
      await expectOneDecision(scene, given, [200, 410]);
    }
  });

  it('settle the approval before its deadline or are refused when they race with it', async () => {
    const seen = new Set<string>();
    for (const left of [2, 40, 400, 2_000]) {
      const scene = await createScene();
      const token = await scene.link(RUN);
      const { deadline } = await scene.record(RUN);
      scene.clock.moveTo(Number(deadline) - left);
      scene.clock.tickMs = 1;
      const given = await decideAll(scene, () => ({ token, by: 'user:ann', answer: 'approve' }), {
        times: FEWER_TIMES,
        alongside: async (i) => i % 10 === 0 && (await scene.sweep()),
      });
      scene.clock.tickMs = 0;
      await expectOneDecision(scene, given, [200, 410]);
      const { status, endedAt } = await scene.record(RUN);
      if (status === 'APPROVED') expect(Number(endedAt)).toBeLessThan(Number(deadline));
      seen.add(status);
    }
    expect([...seen].toSorted()).toEqual(['APPROVED', 'EXPIRED']);
  });
});

interface Decision {
  readonly token: string;
  readonly by: string;
  readonly answer: Answer;
  readonly asForm?: boolean;
}

/** Sends all decisions concurrently, each together with another action. */
async function decideAll(
  scene: TokenScene,
  decisionAt: (i: number) => Decision,
  {
    times = TIMES,
    alongside = async () => undefined,
  }: { times?: number; alongside?: (i: number) => Promise<unknown> } = {},
): Promise<readonly GivenDecision[]> {
  const all = Array.from({ length: times }, async (_, i): Promise<GivenDecision> => {
    const { token, by, answer, asForm } = decisionAt(i);
    const [response] = await Promise.all([
      asForm ? scene.submit(token, answer) : scene.answer(token, answer),
      alongside(i),
    ]);
    return { by, answer, response };
  });
  return Promise.all(all);
}

/** Expects one recorded decision, responses that agree with it, and a run that acts on it once. */
async function expectOneDecision(
  scene: TokenScene,
  given: readonly GivenDecision[],
  statuses: readonly number[],
): Promise<void> {
  const recorded = await scene.record(RUN);
  expect(recorded.status).not.toBe('PENDING');
  expect(new Set(recorded.votes.map(({ by }) => by)).size).toBe(recorded.votes.length);
  for (const each of given) {
    expect(statuses).toContain(each.response.status);
    expectConsistent(each, recorded);
  }
  const isApproved = recorded.status === 'APPROVED';
  expect(recorded.votes.filter(({ answer }) => answer === 'reject').length > 0).toBe(recorded.status === 'REJECTED');
  await scene.settle();
  // A run that a late decision woke up is found by the sweep.
  scene.clock.moveTo(scene.clock.now() + 3_600_000);
  await scene.sweep();
  await scene.settle();
  const { status, result } = await scene.operator.run(RUN);
  if (status === 'CANCELLED') expect(scene.paid.size).toBe(0);
  else
    expect({ status, result, paid: [...scene.paid] }).toEqual({
      status: 'SUCCEEDED',
      result: isApproved,
      paid: isApproved ? [[RUN, 1]] : [],
    });
  expect(await scene.record(RUN)).toEqual(recorded);
  expect(scene.logged.filter((line) => scene.tokens.some((token) => line.includes(token)))).toEqual([]);
}

/** Expects that a response does not contradict the recorded decision. */
function expectConsistent({ by, answer, response }: GivenDecision, { status, outcome, votes }: ApprovalDocument): void {
  const own = votes.find((vote) => vote.by === by);
  if (response.status === 410) expect(['EXPIRED', 'WITHDRAWN']).toContain(status);
  if (response.status === 409) expect(own?.answer ?? outcome).not.toBe(answer);
  if (response.status !== 200 && response.status !== 303) return;
  expect(own?.answer ?? outcome).toBe(answer);
  expect(['APPROVED', 'REJECTED']).toContain(status);
  if (response.approval) expect(['PENDING', status]).toContain(response.approval.status);
}
