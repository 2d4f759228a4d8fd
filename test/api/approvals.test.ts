import { describe, expect, it } from 'vitest';
import { verifyEvidence } from '../../lambda/operator/evidence/verify-evidence.ts';
import { describeOnEachStorage } from '../runtime/storages.ts';
import { type ApiScene, apiScene, caller, PICTURE } from './scene.ts';

async function waiting(scene: ApiScene, id: string): Promise<void> {
  expect((await scene.callApi('/api/runs', { json: { agent: 'trips', id } })).status).toBe(201);
  await scene.settle();
}

const runsIn = (json: Readonly<Record<string, unknown>>): readonly string[] =>
  (json.approvals as { run: string }[]).map(({ run }) => run);

const bob = caller({ person: 'user:bob', roles: ['approver'] });
const ann = caller({ person: 'user:ann', roles: ['approver'] });
const bobInGroup = caller({ person: 'user:bob', groups: ['group:desk'], roles: ['approver'] });
const portal = caller({ person: undefined as never, roles: ['approver'], decidesForOthers: true });
const operator = caller({ person: 'user:op', roles: ['operator'] });

describeOnEachStorage('approvals over HTTP', (open) => {
  it('appear in the inbox of their approvers, by name or through a group, and of nobody else', async () => {
    const scene = apiScene(await open());
    await waiting(scene, 'a');
    await waiting(scene, 'b');
    const inbox = async (as: typeof ann, query = '') =>
      runsIn((await scene.callApi(`/api/approvals${query}`, { as })).json);
    expect(await inbox(ann)).toEqual(['a', 'b']);
    expect(await inbox(ann, '?limit=1')).toEqual(['a']);
    expect(await inbox(bob)).toEqual([]);
    expect(await inbox(bobInGroup)).toEqual(['a', 'b']);
    expect(await inbox(portal, '?person=user:carl&group=group:desk')).toEqual(['a', 'b']);
    expect(await inbox(portal, '?person=user:carl')).toEqual([]);
    expect((await inbox(operator, '?all=true')).toSorted()).toEqual(['a', 'b']);
  });

  it('are decided once, by the caller', async () => {
    const scene = apiScene(await open());
    await waiting(scene, 'a');
    const decide = (json: object, as = ann) => scene.callApi('/api/runs/a/approvals/book/decide', { json, as });
    const no = await decide({ answer: 'approve' }, bob);
    expect([no.status, no.json.code]).toEqual([403, 'NOT_AN_APPROVER']);
    expect(no.text).not.toMatch(/ann|desk/);
    const reading = await decide({ answer: 'approve' }, caller({ person: 'user:bob', roles: ['approver', 'viewer'] }));
    expect(reading.json).toMatchObject({
      detail: expect.stringContaining('Its approvers: user:ann, group:desk.'),
      approvers: ['user:ann', 'group:desk'],
    });
    const asked = await decide({ answer: 'approve', by: 'user:carl' }, portal);
    expect(asked.json).toMatchObject({ status: 403, approvers: ['user:ann', 'group:desk'] });
    for (const fields of [{ by: 'user:ann' }, { groups: ['group:desk'] }, { by: 'user:ann', groups: [] }]) {
      const refused = await decide({ answer: 'approve', ...fields }, bob);
      const paths = Object.keys(fields).map((field) => `/${field}`);
      expect([refused.status, (refused.json.errors as { path: string }[]).map(({ path }) => path)]).toEqual([
        403,
        paths,
      ]);
    }
    const first = await decide({ answer: 'approve', comment: 'fine' }, bobInGroup);
    expect([first.status, first.json.status]).toEqual([200, 'APPROVED']);
    expect(first.json.votes).toMatchObject([{ by: 'user:bob', as: 'group:desk', comment: 'fine' }]);
    expect((await decide({ answer: 'approve', comment: 'again' }, bobInGroup)).json.votes).toEqual(first.json.votes);
    const { json } = await scene.callApi('/api/runs/a/approvals');
    expect(json.approvals).toMatchObject([{ votes: [{ by: 'user:bob', answer: 'approve' }] }]);
    expect(JSON.stringify(json)).not.toContain('fine');
    const other = await decide({ answer: 'reject' }, bobInGroup);
    expect([other.status, other.json.code]).toEqual([409, 'APPROVAL_DECIDED']);
  });

  it('are decided once, even by many concurrent requests', async () => {
    const scene = apiScene(await open());
    await waiting(scene, 'a');
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        scene.app.request('/api/runs/a/approvals/book/decide', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ answer: i % 2 ? 'approve' : 'reject' }),
        }),
      ),
    );
    const statuses = responses.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 409)).toHaveLength(10);
  });

  it('reject a decision on other content, after the deadline, or after a withdrawal', async () => {
    const scene = apiScene(await open());
    await waiting(scene, 'a');
    await waiting(scene, 'b');
    const decide = (run: string, json: object) =>
      scene.callApi(`/api/runs/${run}/approvals/book/decide`, { json, as: ann });
    const { json } = await scene.callApi('/api/runs/a/approvals/book', { as: ann });
    expect(await decide('a', { answer: 'approve', contentHash: '00' })).toMatchObject({
      status: 409,
      json: { code: 'APPROVAL_CHANGED' },
    });
    expect(json).toMatchObject({
      show: {
        price: 12,
        when: { $: ['date', 0] },
        shot: { $: ['payload', expect.any(String), expect.any(String), 8, 'image/png'] },
      },
    });
    const withdrawn = await scene.callApi('/api/runs/a/approvals/book/withdraw', {
      json: { reason: 'Not needed.' },
      as: operator,
    });
    expect(withdrawn.json).toMatchObject({ status: 'WITHDRAWN', withdrawalReason: 'Not needed.' });
    expect(await decide('a', { answer: 'approve', contentHash: json.contentHash })).toMatchObject({
      status: 410,
      json: { code: 'APPROVAL_WITHDRAWN' },
    });
    expect((await scene.callApi('/api/runs/b/approvals/book/remind', { method: 'POST', as: operator })).status).toBe(
      200,
    );
    scene.clock.moveTo(scene.clock.now() + 86_400_000);
    expect(await decide('b', { answer: 'approve' })).toMatchObject({ status: 410, json: { code: 'APPROVAL_EXPIRED' } });
    expect(await decide('a/b', { answer: 'approve' })).toMatchObject({ status: 404 });
  });

  it('show their payloads to their approvers', async () => {
    const scene = apiScene(await open());
    await waiting(scene, 'a');
    const { json } = await scene.callApi('/api/runs/a/approvals/book', { as: ann });
    const { show } = json as { show: { shot: { $: string[] }; page: { $: string[] } } };
    const payloads = '/api/runs/a/approvals/book/payloads';
    const shot = await scene.callApi(`${payloads}/${show.shot.$[1]}`, { as: ann });
    expect([shot.headers.get('content-type'), shot.headers.get('content-length')]).toEqual([
      'image/png',
      String(PICTURE.length),
    ]);
    const page = await scene.callApi(`${payloads}/${show.page.$[1]}`, { as: ann });
    expect(page.headers.get('content-disposition')).toMatch(/^attachment/);
    expect((await scene.callApi(`${payloads}/${show.page.$[1]}`, { as: bob })).json.code).toBe('NOT_AN_APPROVER');
    expect((await scene.callApi(`${payloads}/nothing`, { as: ann })).status).toBe(404);
  });
});

describe('the person who decides', () => {
  it('is never named by the request, unless the caller may decide for others', async () => {
    const scene = apiScene();
    await waiting(scene, 'a');
    const decide = (json: object, as = ann) =>
      scene.callApi('/api/runs/a/approvals/book/decide', { json: { answer: 'approve', ...json }, as });
    for (const json of [{ by: 'user:ann' }, { groups: ['group:desk'] }, { by: 'user:ann', groups: [] }]) {
      const refused = await decide(json, bob);
      expect([refused.status, refused.json.code]).toEqual([403, 'NOT_ALLOWED']);
    }
    expect((await decide({ by: 'user:ann' }, ann)).status).toBe(403);
    for (const json of [{}, { groups: ['group:desk'] }]) expect((await decide(json, portal)).status).toBe(403);
    for (const by of ['group:desk', '', 7]) expect((await decide({ by }, portal)).status).toBe(400);
    expect((await decide({ by: 'user:zed', groups: ['operator'] }, portal)).status).toBe(400);
    expect((await decide({ by: 'user:zed', groups: ['group:desk'] }, portal)).json.votes).toMatchObject([
      { by: 'user:zed', as: 'group:desk' },
    ]);
    expect((await scene.callApi('/api/approvals?person=user:ann', { as: bob })).json.code).toBe('NOT_ALLOWED');
  });

  it('has an inbox, while a program has none and an operator lists every approval only with `all`', async () => {
    const { callApi } = apiScene();
    const program = caller({ person: undefined as never, roles: ['approver'] });
    expect((await callApi('/api/approvals', { as: program })).status).toBe(403);
    expect((await callApi('/api/approvals', { as: operator })).status).toBe(403);
    expect((await callApi('/api/approvals?all=true', { as: ann })).status).toBe(403);
    expect((await callApi('/api/approvals?all=true', { as: operator })).json).toEqual({ approvals: [] });
  });

  it('sees only their own approvals if their role is approver', async () => {
    const scene = apiScene();
    await waiting(scene, 'a');
    const view = (as: typeof ann) => scene.callApi('/api/runs/a/approvals/book', { as });
    expect([(await view(ann)).status, (await view(bobInGroup)).status, (await view(operator)).status]).toEqual([
      200, 200, 200,
    ]);
    expect(await view(bob)).toMatchObject({ status: 403, json: { code: 'NOT_AN_APPROVER' } });
    expect((await view(bob)).text).not.toContain('Book it');
  });

  it('cannot download evidence, which readers of runs of the same tenant can', async () => {
    const scene = apiScene();
    await waiting(scene, 'a');
    const get = (as: typeof ann) => scene.callApi('/api/runs/a/approvals/book/evidence', { as });
    expect([(await get(ann)).status, (await get(portal)).status]).toEqual([403, 403]);
    const got = await get(operator);
    expect([got.status, got.headers.get('content-disposition')]).toEqual([200, 'attachment; filename="evidence.json"']);
    expect(verifyEvidence(got.text)).toMatchObject({ ok: true, evidence: { run: 'a', approval: 'book' } });
    expect((await get(caller({ roles: ['viewer'] }))).status).toBe(200);
    expect(await get(caller({ tenant: 'other', roles: ['operator'] }))).toMatchObject({ status: 404 });
  });
});
