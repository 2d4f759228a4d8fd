import { describe, expect, it } from 'vitest';
import { PATHS } from '../../lambda/console/paths.ts';
import { agent } from '../../lambda/index.ts';
import { caller, consoleScene } from './scene.ts';
import { textOf } from './well-formed.ts';

const asking = agent({
  name: 'asking',
  run: (ctx) =>
    ctx.approval('pay', { title: 'Pay?', approvers: ['user:ann', 'user:bob', 'user:cho'], excludeRequester: true }),
});

const PATH = PATHS.approval('r', 'pay');
const ann = caller({ person: 'user:ann', roles: ['approver'] });
const bob = caller({ person: 'user:bob', roles: ['approver'] });
const anyone = caller({ decidesForOthers: true });

async function requested() {
  const scene = consoleScene(asking);
  await scene.start({}, { id: 'r', requestedBy: 'user:ann' });
  return scene;
}

describe('an approval that excludes the requester, in the console', () => {
  it('offers the requester no form, says why, and refuses their vote', async () => {
    const { get, post } = await requested();
    const { page } = await get(PATH, ann);
    expect(page).not.toContain('name="answer"');
    expect(textOf(page)).toContain('You requested this run, so another approver must decide.');
    expect(textOf(page)).toContain('Run requested by user:ann');
    expect(textOf((await get(PATHS.inbox, ann)).page)).toContain('No pending requests');
    const forced = await post(PATH, { answer: 'approve' }, ann);
    expect([forced.status, textOf(forced.page)]).toEqual([403, expect.stringContaining('requested the run')]);
  });

  it('says to others who is excluded, and takes their decision', async () => {
    const { get, post, run } = await requested();
    const text = textOf((await get(PATH, bob)).page);
    expect(text).toContain('Not voted yet: user:bob , user:cho');
    expect(text).toContain('user:ann requested the run and does not decide.');
    await post(PATH, { answer: 'approve' }, bob);
    expect(await run('r').result()).toMatchObject({ by: ['user:bob'] });
  });

  it('does not offer the requester to someone who decides for others', async () => {
    const { get } = await requested();
    const { page } = await get(`${PATH}?as=user:ann`, anyone);
    expect([...page.matchAll(/<option value="([^"]*)"/g)].map(([, value]) => value)).toEqual(['user:bob', 'user:cho']);
  });

  it('has the person who started the run there as the requester', async () => {
    const { get, post, operator } = consoleScene(asking);
    const start = (form: Readonly<Record<string, string>>, as = caller()) =>
      post(PATHS.start, { agent: 'asking', input: '{}', ...form }, as);
    await start({ id: 'mine' });
    await start({ id: 'theirs', requestedBy: 'user:bob' }, anyone);
    expect((await operator.run('mine')).requestedBy).toBe('user:ann');
    expect((await operator.run('theirs')).requestedBy).toBe('user:bob');
    expect((await start({ requestedBy: 'user:bob' })).status).toBe(403);
    expect((await get(PATHS.start)).page).not.toContain('name="requestedBy"');
    expect((await get(PATHS.start, anyone)).page).toContain('name="requestedBy"');
    expect(textOf((await get(PATHS.run('mine'))).page)).toContain('requested by: user:ann');
    await post(`${PATHS.ofRun('theirs', 'fork')}`, { version: '1', id: 'forked' });
    expect((await operator.run('forked')).requestedBy).toBe('user:bob');
  });
});
