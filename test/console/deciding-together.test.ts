import { describe, expect, it } from 'vitest';
import { PATHS } from '../../lambda/console/paths.ts';
import type { Approver } from '../../lambda/core/approval.ts';
import { agent, payload } from '../../lambda/index.ts';
import { caller, consoleScene } from './scene.ts';
import { textOf } from './well-formed.ts';

interface Refund {
  readonly amount?: number;
  readonly approvers?: readonly Approver[];
  readonly quorum?: number;
  readonly openGroups?: boolean;
  readonly name?: string;
  readonly note?: string;
  readonly receipt?: boolean;
}

const rates = { now: 1 };

const refunds = agent({
  name: 'refunds',
  members: (group) => (group === 'group:finance' ? ['user:ann', 'user:bob'] : (undefined as never)),
  async run(ctx, { amount = 80, name = 'refund', note = '', receipt = false, ...terms }: Refund) {
    return ctx.approval(name, {
      title: `Refund $${amount}?`,
      show: {
        customer: `customer of ${amount}`,
        ...(note && { note }),
        ...(receipt && { receipt: payload('paid', { type: 'text/plain' }) }),
      },
      facts: { amount, rate: rates.now },
      recheck: () => ({ amount, rate: rates.now }),
      approvers: ['user:ann'],
      timeout: { days: 1 },
      editable: true,
      ...terms,
    });
  },
});

async function waiting(inputs: Readonly<Record<string, Refund>>) {
  rates.now = 1;
  const scene = consoleScene(refunds);
  for (const [id, input] of Object.entries(inputs)) await scene.start(input, { id });
  return scene;
}

type Scene = Awaited<ReturnType<typeof waiting>>;

const approver = (person: `user:${string}`) => caller({ person, roles: ['approver'] });
const ann = approver('user:ann');
const { person: _, ...portal } = caller({ roles: ['approver'], decidesForOthers: true });

/** The values of all form fields of a page whose name starts with a text. */
const fields = (page: string, prefix: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...page.matchAll(/<(?:input|button)[^>]* name="([^"]*)" value="([^"]*)"/g)].flatMap(([, name = '', value = '']) =>
      name.startsWith(prefix) ? [[name, value]] : [],
    ),
  );

const listOf = (page: string): string => fields(page, 'list').list ?? '';

/** Opens all requests of the inbox together; returns the page and the fields that decide them. */
async function openAll(scene: Scene, as = ann, extra: Readonly<Record<string, string>> = {}) {
  const inbox = await scene.get(PATHS.inbox, as);
  const opened = await scene.post(PATHS.decideTogether, { list: listOf(inbox.page), ...extra }, as);
  return {
    ...opened,
    form: { ...fields(opened.page, 'item-'), list: listOf(opened.page), ...extra } as Readonly<Record<string, string>>,
  };
}

describe('the inbox', () => {
  it('groups requests of one kind, and offers a box only for those that the caller can decide', async () => {
    const scene = await waiting({
      a: { amount: 1 },
      other: { name: 'bonus' },
      b: { amount: 2, approvers: ['user:bob'] },
      c: { amount: 3 },
    });
    const own = (await scene.get(PATHS.inbox, ann)).page;
    expect(Object.values(fields(own, 'pick-'))).toEqual(['a/refund', 'c/refund']);
    expect(textOf(own)).toMatch(
      /refunds · refund 2 requests .*Refund \$1\? .*Refund \$3\? .*Decide selected Decide all 2 Refund \$80\?/,
    );
    const operator = caller({ person: 'user:ann' });
    const all = (await scene.get(`${PATHS.inbox}?as=everybody`, operator)).page;
    expect(textOf(all)).toContain('refunds · refund 3 requests');
    expect(Object.values(fields(all, 'pick-')).toSorted()).toEqual(['a/refund', 'c/refund']);
    const viewer = caller({ person: 'user:ann', roles: ['operator'] });
    expect(Object.values(fields((await scene.get(`${PATHS.inbox}?as=everybody`, viewer)).page, 'pick-'))).toEqual([]);
  });

  it('shows first the values in which requests of one kind differ, and says which show the same', async () => {
    const scene = await waiting({ a: { amount: 1 }, b: { amount: 2 }, c: { amount: 2 } });
    const text = textOf((await scene.get(PATHS.inbox, ann)).page);
    expect(text).toContain('amount: 1 · customer: customer of 1 · rate: 1');
    expect(text.match(/Same content as \S+/g)).toEqual(['Same content as b']);
  });

  it('shows proposed values and those that were requested', async () => {
    const scene = await waiting({ a: { approvers: ['user:ann', 'user:bob'], quorum: 2 } });
    await scene.run('a').decide({ approval: 'refund', by: 'user:bob', answer: 'approve', edits: { amount: 79 } });
    expect(textOf((await scene.get(PATHS.inbox, ann)).page)).toContain('user:bob proposes amount 79 instead of 80');
  });

  it('asks for a selection if no box is checked', async () => {
    const scene = await waiting({ a: {}, b: {} });
    const back = await scene.post(PATHS.decideTogether, {}, ann);
    expect(back).toMatchObject({ status: 303, location: `${PATHS.inbox}?selected=none` });
    expect(textOf((await scene.get(back.location, ann)).page)).toContain('No request is selected');
    expect(await scene.get(PATHS.decideTogether, ann)).toMatchObject({ status: 303, location: PATHS.inbox });
  });
});

describe('the page that decides several requests', () => {
  it('shows the full content of each: title, details, facts, changed facts, proposals, votes and payloads', async () => {
    const scene = await waiting({ a: { amount: 1 }, b: { amount: 2, approvers: ['user:ann', 'user:bob'], quorum: 2 } });
    await scene
      .run('b')
      .decide({ approval: 'refund', by: 'user:bob', answer: 'approve', edits: { amount: 9 }, comment: 'Less.' });
    await scene.run('a').decide({ approval: 'refund', by: 'user:ann', answer: 'approve' });
    await scene.settle();
    rates.now = 2;
    await scene.start({ amount: 3, receipt: true }, { id: 'c' });
    const before = await scene.operator.approval('b', 'refund');
    const { page, form } = await openAll(scene);
    const text = textOf(page);
    expect(text).toContain('Decide 2 requests together');
    expect(text).toMatch(/Refund \$2\? run b .*0 of 2|1 of 2 needed/);
    expect(text).toMatch(
      /user:bob proposes these changes .* amount 2 9 .*customer customer of 2 .*amount 2 .*user:bob Approved .*Less\./,
    );
    expect(text).toMatch(/Refund \$3\? .*customer customer of 3 .*amount 3 rate 2/);
    expect(page).toMatch(/href="\/api\/runs\/c\/approvals\/refund\/payloads\/[^"]+"/);
    const { contentHash } = before;
    expect(form['item-0']).toBe(`b/refund/${contentHash}`);
    expect(await scene.operator.approval('b', 'refund')).toEqual(before);
  });

  it('shows both values of facts that changed', async () => {
    const scene = await waiting({ a: { amount: 1 }, b: { amount: 2 } });
    rates.now = 2;
    for (const id of ['a', 'b']) await scene.post(PATHS.approval(id, 'refund'), { answer: 'approve' }, ann);
    const { page } = await openAll(scene);
    expect(textOf(page).match(/Facts that changed since the last request .*? rate 1 2/g)).toHaveLength(2);
  });

  it('decides each selected request by itself, and leaves the others', async () => {
    const scene = await waiting({ a: { amount: 1 }, b: { amount: 2 }, c: { amount: 3 } });
    const { form } = await openAll(scene);
    const { 'item-1': leftOut, ...rest } = form;
    expect(leftOut).toMatch(/^b\/refund\//);
    const results = await scene.post(PATHS.decideTogether, { ...rest, answer: 'approve', comment: 'All small.' }, ann);
    expect(results.status).toBe(200);
    expect(textOf(results.page)).toMatch(
      /2 of 2 requests decided .*Refund \$1\? a Approved Your decision is recorded\. .*Refund \$3\? c Approved/,
    );
    for (const id of ['a', 'c'])
      expect(await scene.run(id).result()).toMatchObject({ approved: true, by: ['user:ann'], comment: 'All small.' });
    expect((await scene.operator.approval('b', 'refund')).votes).toEqual([]);
  });

  it('says for each request what happened, and opens again those that can still be decided', async () => {
    const both = { approvers: ['user:ann', 'user:bob'] } as const;
    const scene = await waiting({
      fine: { amount: 1 },
      more: { amount: 2, ...both, quorum: 2 },
      same: { amount: 3, ...both },
      other: { amount: 4, ...both },
      changed: { amount: 5, ...both, quorum: 2 },
      gone: { amount: 6 },
    });
    const { form } = await openAll(scene);
    const bob = { approval: 'refund', by: 'user:bob' } as const;
    await scene.run('same').decide({ ...bob, answer: 'approve' });
    await scene.run('other').decide({ ...bob, answer: 'reject' });
    await scene.run('changed').decide({ ...bob, answer: 'approve', edits: { amount: 4.5 } });
    await scene.operator.withdraw('gone', 'refund', 'Paid in cash.');
    const { page } = await scene.post(PATHS.decideTogether, { ...form, answer: 'approve' }, ann);
    const text = textOf(page);
    expect(text).toContain('3 of 6 requests decided');
    for (const [title, outcome] of [
      ['Refund $1? fine', 'Approved Your decision is recorded.'],
      ['Refund $2? more', 'Pending Your vote is recorded. 1 more approval needed.'],
      ['Refund $3? same', 'Approved Decided meanwhile by user:bob .'],
      ['Refund $4? other', 'Decided meanwhile Approval "refund" cannot get a different vote: user:bob voted reject'],
      ['Refund $5? changed', 'Changed meanwhile The approval request "refund" has changed'],
      ['Refund $6? gone', 'Withdrawn Approval "refund" was withdrawn'],
    ])
      expect(text).toContain(`${title} ${outcome}`);
    expect(listOf(page)).toBe('changed/refund');
    const again = await scene.post(PATHS.decideTogether, { list: listOf(page) }, ann);
    expect(textOf(again.page)).toMatch(/Decide 1 request together .*user:bob proposes these changes .* amount 5 4\.5/);
    const form2 = { ...fields(again.page, 'item-'), list: listOf(again.page), answer: 'approve' };
    expect(textOf((await scene.post(PATHS.decideTogether, form2, ann)).page)).toContain('1 of 1 request decided');
    expect(await scene.run('changed').result()).toMatchObject({ edits: { amount: 4.5 }, by: ['user:bob', 'user:ann'] });
  });

  it('can be submitted twice, and records one decision', async () => {
    const scene = await waiting({ a: { approvers: ['user:ann', 'user:bob'], quorum: 2 }, b: {} });
    const { form } = await openAll(scene);
    await scene.post(PATHS.decideTogether, { ...form, answer: 'approve' }, ann);
    const { page } = await scene.post(PATHS.decideTogether, { ...form, answer: 'approve' }, ann);
    expect(textOf(page)).toMatch(/2 of 2 requests decided .*1 more approval needed\. .*You had decided this before\./);
    expect((await scene.operator.approval('a', 'refund')).votes).toHaveLength(1);
  });

  it('lists the requests that it leaves out, with the reason', async () => {
    const scene = await waiting({ a: {}, b: {}, decided: {}, bobs: { approvers: ['user:bob'] } });
    await scene.run('decided').decide({ approval: 'refund', by: 'user:ann', answer: 'reject' });
    const list = 'a/refund b/refund decided/refund bobs/refund nothing/refund a/refund';
    const { status, page } = await scene.post(PATHS.decideTogether, { list }, ann);
    expect(status).toBe(200);
    expect(textOf(page)).toMatch(
      /3 requests not on this page Refund \$80\? \( decided \) : It is no longer pending: Rejected bobs : "user:ann" is not an approver .*nothing : Run "nothing" .* has no approval/,
    );
    expect(Object.keys(fields(page, 'item-'))).toHaveLength(2);
    const none = await scene.post(PATHS.decideTogether, { list: 'nothing/refund' }, ann);
    expect(textOf(none.page)).toContain('Nothing to decide');
    expect(none.page).not.toContain('name="answer"');
  });

  it('has at most 50 requests, and leaves out those for which it has no room', async () => {
    const long = { note: 'x'.repeat(90_000) };
    const many = Array.from({ length: 52 }, (_, i) => [`r${i}`, { amount: i }] as const);
    const scene = await waiting(Object.fromEntries(many));
    const inbox = (await scene.get(PATHS.inbox, ann)).page;
    expect(textOf(inbox)).toContain('Decide the first 50');
    const picks = fields(inbox, 'pick-');
    expect(Object.keys(picks)).toHaveLength(52);
    const { page } = await scene.post(PATHS.decideTogether, picks, ann);
    expect(Object.keys(fields(page, 'item-'))).toHaveLength(50);
    expect(textOf(page)).toMatch(/2 requests not on this page .*A page has at most 50 requests\. Decide these first\./);

    const large = await waiting({
      huge: { amount: 1, note: 'x'.repeat(400_000) },
      ...Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`l${i}`, { amount: i, ...long }])),
    });
    const opened = await openAll(large);
    const shown = Object.keys(fields(opened.page, 'item-')).length;
    expect([shown > 5, shown < 30]).toEqual([true, true]);
    expect(opened.page.length).toBeLessThan(2_000_000);
    expect(textOf(opened.page)).toMatch(/\( huge \) : It is too large for this page\. Decide it on its own page\./);
    expect(textOf(opened.page)).toContain('This page has no room for it. Decide these first.');
  });

  it('keeps the comment and the boxes if the form is not accepted', async () => {
    const scene = await waiting({ a: { amount: 1 }, b: { amount: 2 } });
    const { form } = await openAll(scene);
    const { 'item-0': _, ...rest } = form;
    const comment = 'x'.repeat(10_001);
    const refused = await scene.post(PATHS.decideTogether, { ...rest, answer: 'approve', comment }, ann);
    expect(refused.status).toBe(400);
    expect(refused.page).toContain(comment);
    expect(refused.page).toMatch(/value="a\/refund\/[^"]*"><label/);
    expect(refused.page).toMatch(/value="b\/refund\/[^"]*" checked><label/);
    const nothing = await scene.post(PATHS.decideTogether, { list: form.list ?? '', answer: 'approve' }, ann);
    expect([nothing.status, textOf(nothing.page)]).toEqual([400, expect.stringContaining('at least one request')]);
    for (const id of ['a', 'b']) expect((await scene.operator.approval(id, 'refund')).votes).toEqual([]);
  });

  it('lets a caller who decides for others choose among the people who can vote, and nobody else', async () => {
    const scene = await waiting({ a: { approvers: ['group:finance'] }, b: { approvers: ['user:bob', 'user:cleo'] } });
    const list = 'a/refund b/refund';
    const { page } = await scene.post(PATHS.decideTogether, { list }, portal);
    const options = [...page.matchAll(/<option value="([^"]*)"[^>]*>([^<]*)/g)].map(([, , label]) => label);
    expect(options).toEqual(['user:bob', 'user:ann (can decide 1 of 2)', 'user:cleo (can decide 1 of 2)']);
    const chosen = await scene.post(PATHS.decideTogether, { list, as: 'user:cleo' }, portal);
    expect(chosen.page).toContain('<option value="user:cleo" selected>');
    const form = { ...fields(page, 'item-'), list, answer: 'approve' };
    const zed = await scene.post(PATHS.decideTogether, { ...form, by: 'user:zed' }, portal);
    expect(textOf(zed.page)).toContain('0 of 2 requests decided');
    expect(textOf(zed.page).match(/"user:zed" is not an approver/g)).toHaveLength(2);
    const bob = await scene.post(PATHS.decideTogether, { ...form, by: 'user:bob' }, portal);
    expect(textOf(bob.page)).toContain('2 of 2 requests decided');
    expect((await scene.operator.approval('a', 'refund')).votes).toMatchObject([
      { by: 'user:bob', as: 'group:finance' },
    ]);
  });
});

describe('a forged form', () => {
  it('decides nothing of another tenant, of other people, or without the role', async () => {
    const scene = await waiting({ a: {}, b: {} });
    const { form } = await openAll(scene);
    const deciding = { ...form, answer: 'approve' };
    const stranger = await scene.post(PATHS.decideTogether, deciding, caller({ tenant: 'other', roles: ['approver'] }));
    expect(textOf(stranger.page)).toMatch(/0 of 2 requests decided .*has no approval/);
    expect(stranger.page).not.toContain('Refund');
    const eve = await scene.post(PATHS.decideTogether, { ...deciding, by: 'user:ann' }, approver('user:eve'));
    expect(textOf(eve.page)).toContain('0 of 2 requests decided');
    expect(eve.page).not.toContain('Refund $');
    for (const roles of [['viewer'], ['operator'], ['starter']] as const)
      expect((await scene.post(PATHS.decideTogether, deciding, caller({ roles }))).status).toBe(403);
    for (const id of ['a', 'b']) expect((await scene.operator.approval(id, 'refund')).votes).toEqual([]);
  });

  it.each([
    ['a malformed value', { 'item-0': 'a' }],
    ['a value without a hash', { 'item-0': 'a/refund' }],
    ['an empty part', { 'item-0': 'a//x' }],
    ['a part that cannot be decoded', { 'item-0': 'a/%ZZ/x' }],
    ['the same request twice', { 'item-0': 'a/refund/x', 'item-1': 'a/refund/y' }],
    ['51 requests', Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`item-${i}`, `r${i}/refund/x`]))],
    ['an unknown answer', { 'item-0': 'a/refund/x', answer: 'maybe' }],
  ])('is refused with %s', async (_, form) => {
    const scene = await waiting({ a: {} });
    const { status } = await scene.post(PATHS.decideTogether, { list: 'a/refund', answer: 'approve', ...form }, ann);
    expect(status).toBe(400);
    expect((await scene.operator.approval('a', 'refund')).votes).toEqual([]);
  });

  it.each([
    ['requests of several kinds', 'a/refund b/bonus'],
    ['10,000 requests', Array.from({ length: 10_000 }, (_, i) => `r${i}/refund`).join(' ')],
    ['a malformed request', 'a/refund b'],
  ])('shows no page for %s', async (_, list) => {
    const scene = await waiting({ a: {}, b: { name: 'bonus' } });
    expect((await scene.post(PATHS.decideTogether, { list }, ann)).status).toBe(400);
  });
});
