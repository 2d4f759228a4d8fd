import { describe, expect, it } from 'vitest';
import { PATHS } from '../../lambda/console/paths.ts';
import type { Caller } from '../../lambda/http/caller.ts';
import { agent } from '../../lambda/index.ts';
import { caller, consoleScene } from './scene.ts';
import { textOf } from './well-formed.ts';

const CHO = caller({ person: 'user:cho', roles: ['approver'] });
const { person: _person, ...nobody } = caller({ decidesForOthers: true });
const PORTAL: Caller = nobody;
const FIVE_DAYS = { delegate: 'user:cho', until: '2026-01-06T00:00' };

const scene = () =>
  consoleScene(
    agent({ name: 'pays', run: (ctx) => ctx.approval('pay', { title: 'Pay?', approvers: ['user:ann', 'user:bob'] }) }),
  );

describe('the page Away', () => {
  it('lets a person say who answers for them, change it, and end it', async () => {
    const { get, post, operator } = scene();
    expect(textOf((await get(PATHS.inbox)).page)).toContain('Away');
    const empty = textOf((await get(PATHS.away)).page);
    expect(empty).toMatch(/Say who answers for you Who answers From \(optional\) Until Times are in UTC/);
    expect(empty).toContain('You do not answer for anyone.');
    expect(await post(PATHS.away, FIVE_DAYS)).toMatchObject({ status: 303, location: PATHS.away });
    expect(textOf((await get(PATHS.away)).page)).toMatch(
      /user:cho answers for you Until 6 Jan 2026, 00:00 UTC \( in 5 d \) ?\. Both can answer; together they have one vote\. End now/,
    );
    await post(PATHS.away, { ...FIVE_DAYS, delegate: 'user:dan', from: '2026-01-03T09:30' });
    expect(textOf((await get(PATHS.away)).page)).toMatch(
      /user:dan will answer for you From 3 Jan 2026, 09:30 UTC .*until 6 Jan .*Cancel/,
    );
    expect(await operator.delegations()).toMatchObject([
      { person: 'user:ann', delegate: 'user:dan', from: new Date('2026-01-03T09:30:00Z'), createdBy: 'user:ann' },
    ]);
    await post(`${PATHS.away}/end`, { person: 'user:ann' });
    expect(await operator.delegations()).toEqual([]);
  });

  it('shows the delegate for whom they answer, and lets them end it', async () => {
    const { get, post, operator } = scene();
    await post(PATHS.away, FIVE_DAYS);
    expect(textOf((await get(PATHS.away, CHO)).page)).toMatch(
      /You answer for others For user:ann End now .*Until 6 Jan 2026/,
    );
    const zed = caller({ person: 'user:zed', roles: ['approver'] });
    expect(textOf((await get(PATHS.away, zed)).page)).not.toContain('user:ann');
    expect(await post(`${PATHS.away}/end`, { person: 'user:ann' }, zed)).toMatchObject({ status: 403 });
    expect(await post(`${PATHS.away}/end`, { person: 'user:ann' }, CHO)).toMatchObject({ status: 303 });
    expect(await operator.delegations()).toEqual([]);
  });

  it('uses the time zone that the script sends', async () => {
    const { post, operator } = scene();
    await post(PATHS.away, { ...FIVE_DAYS, 'until-offset': '-60' });
    expect(await operator.delegations()).toMatchObject([{ until: new Date('2026-01-05T23:00:00Z') }]);
    await post(PATHS.away, { ...FIVE_DAYS, until: '2026-01-06T00:00:00Z', 'until-offset': '-60' });
    expect(await operator.delegations()).toMatchObject([{ until: new Date('2026-01-06T00:00:00Z') }]);
  });

  it('says what is wrong, and keeps what the user typed', async () => {
    const { post, operator } = scene();
    for (const [fields, expected] of [
      [{ ...FIVE_DAYS, delegate: 'cho' }, 'Who answers must be "user:" followed by a name'],
      [{ ...FIVE_DAYS, delegate: 'user:ann' }, 'another person than `person`'],
      [{ ...FIVE_DAYS, until: '' }, 'Until must be a date and a time'],
      [{ ...FIVE_DAYS, until: '2020-01-01T00:00' }, '`until` must be in the future'],
      [{ ...FIVE_DAYS, from: '2026-02-01T00:00' }, '`from` must be before `until`'],
    ] as const) {
      const { status, page } = await post(PATHS.away, fields);
      expect([status, textOf(page)]).toEqual([400, expect.stringContaining(expected)]);
      expect(page).toContain(`value="${fields.delegate}"`);
    }
    expect(await operator.delegations()).toEqual([]);
  });

  it('is for the person alone, unless the caller decides for others', async () => {
    const { get, post, operator } = scene();
    await post(PATHS.away, { ...FIVE_DAYS, person: 'user:bob', delegate: 'user:zed' }, caller({ person: 'user:zed2' }));
    expect(await operator.delegations()).toMatchObject([{ person: 'user:zed2', delegate: 'user:zed' }]);
    await post(`${PATHS.away}/end`, { person: 'user:zed2' }, caller({ person: 'user:zed2' }));
    expect(await post(PATHS.away, { ...FIVE_DAYS, person: 'user:ann' }, PORTAL)).toMatchObject({
      location: `${PATHS.away}?as=user%3Aann`,
    });
    expect(textOf((await get(`${PATHS.away}?as=user:ann`, PORTAL)).page)).toMatch(/user:cho answers for user:ann/);
    expect(textOf((await get(PATHS.away, PORTAL)).page)).toMatch(/Who is away .*user:cho for user:ann/);
    const viewer = caller({ roles: ['viewer'] });
    expect((await get(PATHS.away, viewer)).status).toBe(403);
  });
});

describe('a delegate who decides several requests together', () => {
  it('selects what they answer for someone, sees for whom, and the votes record both', async () => {
    const { get, post, start, operator } = scene();
    await operator.delegate({ person: 'user:ann', delegate: 'user:cho', until: new Date('2026-01-06T00:00:00Z') });
    for (const id of ['a', 'b']) await start(undefined, { id });
    const inbox = (await get(PATHS.inbox, CHO)).page;
    expect(textOf(inbox)).toMatch(/You answer for user:ann .*Decide selected/);
    const opened = await post(PATHS.decideTogether, { list: 'a/pay b/pay' }, CHO);
    expect(textOf(opened.page)).toMatch(/Decide 2 requests together .*You answer for user:ann ?, who is away/);
    const items = Object.fromEntries(
      [...opened.page.matchAll(/name="(item-\d)" value="([^"]+)"/g)].map(([, name = '', value = '']) => [name, value]),
    );
    const decided = await post(PATHS.decideTogether, { list: 'a/pay b/pay', answer: 'approve', ...items }, CHO);
    expect(textOf(decided.page)).toMatch(/2 of 2 requests decided/);
    for (const id of ['a', 'b'])
      expect((await operator.approval(id, 'pay')).votes).toMatchObject([{ by: 'user:cho', for: 'user:ann' }]);
  });

  it('is offered to callers who decide for others', async () => {
    const { post, start, operator } = scene();
    await operator.delegate({ person: 'user:ann', delegate: 'user:cho', until: new Date('2026-01-06T00:00:00Z') });
    await operator.delegate({ person: 'user:bob', delegate: 'user:cho', until: new Date('2026-01-06T00:00:00Z') });
    for (const id of ['a', 'b']) await start(undefined, { id });
    const { page } = await post(PATHS.decideTogether, { list: 'a/pay b/pay' }, PORTAL);
    expect(textOf(page)).toMatch(/user:ann user:bob user:cho for user:ann or user:bob/);
  });
});
