import { describe, expect, it } from 'vitest';
import { PATHS } from '../../lambda/console/paths.ts';
import { agent } from '../../lambda/index.ts';
import { caller, consoleScene } from './scene.ts';
import { textOf } from './well-formed.ts';

const asking = agent({
  name: 'asking',
  notify: () => {},
  run: (ctx) => ctx.approval('pay', { title: 'Pay?', approvers: ['user:ann', 'user:bob'], quorum: 2 }),
});

const PATH = PATHS.approval('r', 'pay');
const DAY = 86_400_000;
const ann = caller({ person: 'user:ann', roles: ['approver'] });
const cho = caller({ person: 'user:cho', roles: ['approver'] });
const eve = caller({ person: 'user:eve', roles: ['approver'] });
const anyone = caller({ person: undefined as never, decidesForOthers: true });

async function whileAway() {
  const scene = consoleScene(asking);
  const until = new Date(scene.clock.now() + 5 * DAY);
  await scene.operator.delegate({ person: 'user:ann', delegate: 'user:cho', until });
  await scene.start({}, { id: 'r' });
  return { ...scene, until };
}

describe('a delegate in the console', () => {
  it('finds the request in the inbox, decides it for the person who is away, and sees that', async () => {
    const { get, post, operator } = await whileAway();
    expect(textOf((await get(PATHS.inbox, cho)).page)).toContain('You answer for user:ann');
    const { page } = await get(PATH, cho);
    expect(textOf(page)).toContain('You decide as user:cho for user:ann , who is away.');
    expect(page).toContain('name="for" value="user:ann"');
    await post(PATH, { answer: 'approve', for: 'user:ann' }, cho);
    expect((await operator.approval('r', 'pay')).votes).toMatchObject([{ by: 'user:cho', for: 'user:ann' }]);
    const after = textOf((await get(PATH, cho)).page);
    expect(after).toContain('You approved this for user:ann');
    expect(after).toMatch(/user:cho for user:ann\s+Approved/);
    expect(after).toContain('Not voted yet: user:bob');
    expect(textOf((await get(PATH, ann)).page)).toContain('user:cho approved this for you');
    expect(textOf((await get(PATHS.inbox, ann)).page)).toContain('No pending requests');
  });

  it('is refused if the delegation ended after the page was loaded', async () => {
    const { get, post, clock, until, operator } = await whileAway();
    expect((await get(PATH, cho)).page).toContain('name="answer"');
    clock.moveTo(until.getTime());
    const late = await post(PATH, { answer: 'approve', for: 'user:ann' }, cho);
    expect(late.status).toBe(403);
    expect((await operator.approval('r', 'pay')).votes).toEqual([]);
  });

  it('cannot be forged by a form', async () => {
    const { get, post } = await whileAway();
    expect((await get(PATH, eve)).status).toBe(403);
    expect((await post(PATH, { answer: 'approve', for: 'user:ann' }, eve)).status).toBe(403);
    expect((await post(PATH, { answer: 'approve', for: 'user:bob' }, cho)).status).toBe(403);
  });

  it('is offered to someone who decides for others', async () => {
    const { get, post, operator } = await whileAway();
    const { page } = await get(PATH, anyone);
    expect(textOf(page)).toContain('user:cho for user:ann');
    await post(PATH, { answer: 'approve', by: 'user:cho' }, anyone);
    expect((await operator.approval('r', 'pay')).votes).toMatchObject([{ by: 'user:cho', for: 'user:ann' }]);
  });
});

describe('the link of a delegate', () => {
  it('says for whom it decides, and decides', async () => {
    const { get, post, notifications, operator } = await whileAway();
    const link = notifications[0]?.links.find(({ person }) => person === 'user:cho');
    const path = new URL(link?.url ?? '').pathname;
    const { page } = await get(`/approvals${path}`);
    expect(textOf(page)).toContain('You decide as user:cho for user:ann , who is away.');
    expect(page).not.toContain('name="for"');
    expect((await post(`/approvals${path}`, { answer: 'approve' })).status).toBe(303);
    expect((await operator.approval('r', 'pay')).votes).toMatchObject([{ by: 'user:cho', for: 'user:ann' }]);
  });

  it('says that it can no longer decide when the delegation has ended', async () => {
    const { get, post, notifications, operator } = await whileAway();
    const link = notifications[0]?.links.find(({ person }) => person === 'user:cho');
    const path = `/approvals${new URL(link?.url ?? '').pathname}`;
    await operator.endDelegation('user:ann');
    const { page } = await get(path);
    expect(textOf(page)).toContain('user:cho no longer answers for user:ann');
    expect(page).not.toContain('name="answer"');
    const refused = await post(path, { answer: 'approve' });
    expect([refused.status, textOf(refused.page)]).toEqual([403, expect.stringContaining('cannot answer for')]);
  });
});
