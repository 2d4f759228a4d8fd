import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { PATHS } from '../../lambda/console/paths.ts';
import type { Approver } from '../../lambda/core/approval.ts';
import { agent } from '../../lambda/index.ts';
import { remind } from '../../lambda/runtime/approvals/decide.ts';
import { caller, consoleScene } from './scene.ts';
import { textOf } from './well-formed.ts';

interface Question {
  readonly approvers?: readonly Approver[];
  readonly quorum?: number;
  readonly openGroups?: boolean;
}

const fares = { now: 1200 };

const booking = agent({
  name: 'booking',
  async run(ctx, { approvers = ['user:ann'], quorum = 1, openGroups = false }: Question) {
    const decision = await ctx.approval('book', {
      title: ({ fare }) => `Book for ${fare}?`,
      show: { route: 'BER to LIS' },
      facts: { fare: fares.now },
      recheck: () => ({ fare: fares.now }),
      timeout: { days: 1 },
      editable: true,
      ...{ approvers, quorum, openGroups },
    });
    return { ...decision };
  },
});

/** The same agent, which lists the members of a group. */
const withMembers = agent({
  name: 'booking',
  members: (group) => (group === 'group:finance' ? ['user:ann', 'user:bob'] : []),
  run: (ctx) =>
    ctx.approval('book', { title: 'Book?', approvers: ['group:finance', 'user:cleo'], quorum: 2, editable: true }),
});

const PATH = PATHS.approval('trip', 'book');

async function requestApproval(question: Question = {}) {
  fares.now = 1200;
  const scene = consoleScene(booking);
  await scene.start(question, { id: 'trip' });
  return scene;
}

/** The value of a form field on a page. */
const field = (page: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? '';

describe('an approval in the console', () => {
  it('says that approvers were not notified, and why', async () => {
    const scene = await requestApproval();
    expect(textOf((await scene.get(PATH)).page)).not.toContain('not been notified');
    const at = await scene.agent.runtime.contexts.forRun('trip');
    await remind(at, 'book');
    scene.clock.moveTo(scene.clock.now() + 5 * 60_000);
    const { page } = await scene.get(PATH);
    expect(textOf(page)).toContain('Approvers have not been notified');
    expect(textOf(page)).toMatch(
      /The notification was due 5 min ago \(.*\) ?, but no running process has agent booking/,
    );
  });

  it('shows the request, and viewing it changes nothing', async () => {
    const { get, operator } = await requestApproval();
    const before = await operator.approval('trip', 'book');
    const { page } = await get(PATH);
    for (const part of [
      'Book for 1200?',
      'BER to LIS',
      'fare 1200',
      '0 of 1 needed',
      'in 24 h',
      'Not voted yet: user:ann',
    ])
      expect(textOf(page)).toContain(part);
    expect(field(page, 'contentHash')).toBe(before.contentHash);
    expect(await operator.approval('trip', 'book')).toEqual(before);
  });

  it('is decided with a plain form, then shows the status of the run', async () => {
    const { get, post, run } = await requestApproval();
    const { page } = await get(PATH);
    const form = {
      answer: 'approve',
      comment: 'Fine.',
      edits: '{"seat": "4A"}',
      contentHash: field(page, 'contentHash'),
    };
    expect(await post(PATH, form)).toMatchObject({ status: 303, location: PATH });
    expect(await run('trip').result()).toMatchObject({ approved: true, comment: 'Fine.', edits: { seat: '4A' } });
    const after = await get(PATH);
    expect(textOf(after.page)).toMatch(/Approved By user:ann , .*The run has ended: Succeeded/);
    expect(after.page).not.toContain('name="answer"');
    expect(after.page).not.toContain('data-live');
  });

  it('does not present a run that succeeds after a rejection as approved', async () => {
    const { get, post } = await requestApproval();
    await post(PATH, { answer: 'reject' });
    const after = textOf((await get(PATH)).page);
    expect(after).toMatch(/Rejected By user:ann , .*The run resumed with that decision and has ended: Succeeded/);
  });

  it('shows where edits are invalid, and keeps what the user typed', async () => {
    const { post, operator } = await requestApproval();
    const edits = '{\n  "seat": "4A",\n  "row": four\n}';
    const { status, page } = await post(PATH, { answer: 'approve', comment: 'A window.', edits });
    expect(status).toBe(400);
    expect(textOf(page)).toContain('Line 3, column 10: expected a value');
    expect(page).toContain('<textarea class="json" id="edits"');
    expect(page).toMatch(/<details open><summary>Approve with changes/);
    for (const kept of ['A window.', '&quot;row&quot;: four']) expect(page).toContain(kept);
    expect(page).toContain('aria-invalid="true"');
    expect((await operator.approval('trip', 'book')).status).toBe('PENDING');
  });

  it('shows both values when facts changed, and rejects a decision on the old ones', async () => {
    const { get, post } = await requestApproval();
    const { page } = await get(PATH);
    fares.now = 1500;
    await post(PATH, { answer: 'approve', contentHash: field(page, 'contentHash') });
    const again = PATHS.approval('trip', 'book~2');
    const first = await get(PATH);
    expect(textOf(first.page)).toMatch(/Approved, but requested again .*Meanwhile, these facts changed: fare\./);
    expect(first.page).toContain(`href="${again}">Open the new request`);
    const second = await get(again);
    expect(textOf(second.page)).toMatch(
      /for the second time.*Facts that changed since the last request.*fare 1200 1500/,
    );
    const stale = await post(again, { answer: 'approve', contentHash: field(page, 'contentHash') });
    expect(stale.status).toBe(409);
    expect(textOf(stale.page)).toContain('Load the current request and decide again');
    expect(textOf((await get(PATHS.inbox)).page)).toContain('because these facts changed: fare');
  });

  it('explains why edits were not accepted', async () => {
    const sending = agent({
      name: 'sending',
      run: (ctx) =>
        ctx.approval('send', {
          ...{ title: 'Send it?', show: { subject: 'Hello' }, approvers: ['user:ann'] },
          // Forms cannot check this; the agent does.
          editable: z.object({ subject: z.string().refine((text) => text !== 'Hi', 'must be polite') }),
        }),
    });
    const { start, get, post, run } = consoleScene(sending);
    await start(undefined, { id: 'mail' });
    const [first, again] = [PATHS.approval('mail', 'send'), PATHS.approval('mail', 'send~2')];
    await post(first, { answer: 'approve', form: 'edits', 'edits/subject': 'Hi' });
    const after = textOf((await get(first)).page);
    expect(after).toMatch(/Approved, but requested again .*The changes were not accepted: .*subject: must be polite/);
    const { page } = await get(again);
    expect(textOf(page)).toMatch(/The approved changes were not accepted .*subject: must be polite/);
    expect(textOf(page)).not.toMatch(/Facts that changed|Before Now/);
    expect(page).toContain('name="edits/subject" type="text" dir="auto" value="Hi"');
    expect(textOf((await get(PATHS.inbox)).page)).toContain(
      'Requested again because the approved changes were not accepted',
    );
    await post(again, { answer: 'approve', form: 'edits', 'edits/subject': 'Good day' });
    expect(await run('mail').result()).toMatchObject({ edits: { subject: 'Good day' }, requestCount: 2 });
  });

  it('shows the decision of one tab in another tab that decides later', async () => {
    const { post, operator } = await requestApproval({ quorum: 2, approvers: ['user:ann', 'user:bob'] });
    await post(PATH, { answer: 'approve' });
    const second = await post(PATH, { answer: 'reject', comment: 'No.' });
    expect(second.status).toBe(409);
    expect(textOf(second.page)).toMatch(/user:ann voted approve .* Nothing was changed.*You approved this/);
    expect((await post(PATH, { answer: 'approve' })).status).toBe(303);
    expect((await operator.approval('trip', 'book')).votes).toHaveLength(1);
  });

  it('says that a request has expired or was withdrawn', async () => {
    const late = await requestApproval();
    await late.skip({ days: 2 });
    const refused = await late.post(PATH, { answer: 'approve' });
    expect(refused.status).toBe(410);
    expect(textOf(refused.page)).toContain('Expired: no decision in time');
    const ended = await requestApproval();
    await ended.post(`${PATH}/withdraw`, { reason: 'The trip was cancelled.' });
    const { page } = await ended.get(PATH);
    expect(textOf(page)).toMatch(/Withdrawn: no decision is needed.*The trip was cancelled\./);
    expect((await ended.post(PATH, { answer: 'approve' })).status).toBe(410);
  });

  it('shows the progress while more approvals are needed', async () => {
    const { get, post } = await requestApproval({ approvers: ['user:ann', 'user:bob', 'user:cleo'], quorum: 2 });
    await post(PATH, { answer: 'approve', comment: 'Yes.' });
    const own = await get(PATH);
    expect(textOf(own.page)).toMatch(/You approved this Your decision is recorded. 1 more approval needed/);
    expect(own.page).not.toContain('name="answer"');
    const { page } = await get(PATH, caller({ person: 'user:bob' }));
    expect(textOf(page)).toMatch(/1 of 2 needed.*user:ann Approved just now Yes\. Not voted yet: user:bob , user:cleo/);
    expect(page).toContain('name="answer"');
  });
});

describe('a caller of an approval page', () => {
  it('is rejected without the role, or if they are not an approver', async () => {
    const { get, post } = await requestApproval();
    const viewer = caller({ person: 'user:ann', roles: ['viewer'] });
    expect((await get(PATH, viewer)).page).toContain('You can view this request, but not decide it.');
    expect((await post(PATH, { answer: 'approve' }, viewer)).status).toBe(403);
    const stranger = caller({ person: 'user:eve', roles: ['approver'] });
    expect((await get(PATH, stranger)).status).toBe(403);
    expect((await post(PATH, { answer: 'approve' }, stranger)).status).toBe(403);
    expect((await get('/console/inbox?as=user:ann', stranger)).status).toBe(403);
    const looking = caller({ person: 'user:eve' });
    expect((await get(PATH, looking)).page).toContain('You are not an approver of this request.');
    for (const action of ['remind', 'withdraw'])
      expect((await post(`${PATH}/${action}`, { reason: 'x' }, viewer)).status).toBe(403);
  });

  it('cannot decide for others by naming them, unless allowed to', async () => {
    const { post, operator } = await requestApproval({ approvers: ['user:bob'] });
    expect((await post(PATH, { answer: 'approve', by: 'user:bob' })).status).toBe(403);
    expect((await operator.approval('trip', 'book')).status).toBe('PENDING');
  });

  it('chooses the person to decide for, if allowed to', async () => {
    const { get, post, run } = await requestApproval({ approvers: ['user:bob', 'group:finance'], quorum: 2 });
    const portal = caller({ person: undefined as never, decidesForOthers: true });
    const { person: _, ...withoutPerson } = portal;
    const { page } = await get(PATH, withoutPerson);
    expect(page).toMatch(/<select id="by"[^>]*><option value="user:bob">/);
    expect(page).not.toContain('name="member"');
    const zed = await post(PATH, { answer: 'approve', by: 'user:zed' }, withoutPerson);
    expect(zed.status).toBe(403);
    expect(textOf(zed.page)).toContain('The members of group:finance are unknown');
    const first = await post(PATH, { answer: 'approve', by: 'user:bob' }, withoutPerson);
    expect(first).toMatchObject({ status: 303, location: `${PATH}?as=user%3Abob` });
    await run('trip').decide({ approval: 'book', by: 'user:ann', groups: ['group:finance'], answer: 'approve' });
    expect(await run('trip').result()).toMatchObject({ approved: true, by: ['user:bob', 'user:ann'] });
  });

  it('chooses among the members that the agent lists, and nobody else can complete the quorum', async () => {
    const { get, post, start, run } = consoleScene(withMembers);
    await start({}, { id: 'trip' });
    const { person: _, ...withoutPerson } = caller({ decidesForOthers: true });
    const { page } = await get(PATH, withoutPerson);
    const options = [...page.matchAll(/<option value="([^"]*)"/g)].map(([, value]) => value);
    expect(options).toEqual(['user:ann', 'user:bob', 'user:cleo']);
    expect(page).not.toContain('name="member"');
    const hash = field(page, 'contentHash');
    expect((await post(PATH, { answer: 'approve', by: 'user:ann', contentHash: hash }, withoutPerson)).status).toBe(
      303,
    );
    const zed = await post(PATH, { answer: 'approve', by: 'user:zed', contentHash: hash }, withoutPerson);
    expect(zed.status).toBe(403);
    await post(PATH, { answer: 'approve', by: 'user:bob', contentHash: hash }, withoutPerson);
    expect(await run('trip').result()).toMatchObject({ approved: true, by: ['user:ann', 'user:bob'] });
  });

  it('shows who proposes which changes, and asks earlier approvers again', async () => {
    const { get, post, run } = await requestApproval({ approvers: ['user:ann', 'user:bob'], quorum: 2 });
    const as = (person: 'user:ann' | 'user:bob') => caller({ person, roles: ['approver'] });
    const hashFor = async (person: 'user:ann' | 'user:bob') => field((await get(PATH, as(person))).page, 'contentHash');
    await post(PATH, { answer: 'approve', contentHash: await hashFor('user:ann') }, as('user:ann'));
    const edits = '{"fare": 1100}';
    await post(PATH, { answer: 'approve', contentHash: await hashFor('user:bob'), edits }, as('user:bob'));
    const { page } = await get(PATH, as('user:ann'));
    expect(textOf(page)).toMatch(/user:bob proposes these changes .* fare 1200 1100/);
    expect(textOf(page)).toContain('1 of 2 needed');
    expect(textOf(page)).toContain('Does not count any more: it was for an earlier version of the request.');
    await post(PATH, { answer: 'approve', contentHash: field(page, 'contentHash') }, as('user:ann'));
    expect(await run('trip').result()).toMatchObject({ by: ['user:bob', 'user:ann'], edits: { fare: 1100 } });
  });

  it('must name a person for an open group, and cannot vote twice for one person', async () => {
    const question = { approvers: ['group:finance'], quorum: 2, openGroups: true } as const;
    const { get, post, operator } = await requestApproval(question);
    const { person: _, ...withoutPerson } = caller({ decidesForOthers: true });
    const { page } = await get(PATH, withoutPerson);
    expect(page).toMatch(/id="member" name="member" value="" required placeholder="user:…" pattern="user:\.\+"/);
    expect(page).not.toMatch(/user:me|<select/);
    await post(PATH, { answer: 'approve', member: 'user:ann' }, withoutPerson);
    for (const member of ['ann', 'user:', 'group:finance']) {
      const refused = await post(PATH, { answer: 'approve', member }, withoutPerson);
      expect(refused.status, member).toBe(400);
      expect(refused.page).toContain(`name="member" value="${member}"`);
    }
    expect((await operator.approval('trip', 'book')).votes).toHaveLength(1);
  });

  it('starts with the person whose inbox they came from', async () => {
    const { get } = await requestApproval({ approvers: ['user:ann', 'user:bob', 'group:finance'], openGroups: true });
    const portal = caller({ decidesForOthers: true });
    expect((await get(`${PATH}?as=user:bob`, portal)).page).toContain('<option value="user:bob" selected>');
    const { page } = await get(`${PATH}?as=user:cleo`, portal);
    expect(page).toMatch(/<option value="" selected>.*name="member" value="user:cleo"/s);
  });

  it('sees their own approvals, and all of them as an operator', async () => {
    const { get } = await requestApproval({ approvers: ['user:bob'] });
    const list = async (path: string, fields: Parameters<typeof caller>[0]) =>
      textOf((await get(path, caller(fields))).page);
    expect(await list('/console/inbox', { person: 'user:bob', roles: ['approver'] })).toContain('Book for 1200?');
    expect(await list('/console/inbox', { person: 'user:ann', roles: ['approver'] })).toContain('No pending requests');
    expect(await list('/console/inbox', { person: 'user:ann', roles: ['operator'] })).toContain('Book for 1200?');
    expect(await list('/console/inbox?as=user:bob', { decidesForOthers: true })).toContain('Book for 1200?');
  });
});
