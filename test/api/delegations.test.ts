import { describe, expect, it } from 'vitest';
import type { Person } from '../../lambda/core/approval.ts';
import { describeOnEachStorage } from '../runtime/storages.ts';
import { type ApiScene, apiScene, caller } from './scene.ts';

const person = (name: Person, groups: readonly string[] = []) => caller({ person: name, groups, roles: ['approver'] });
const ann = person('user:ann', ['group:desk']);
const cho = person('user:cho');
const eve = person('user:eve');
const portal = caller({ person: undefined as never, roles: ['approver'], decidesForOthers: true });
const operator = caller({ person: 'user:op', roles: ['operator'] });
const UNTIL = '2026-05-08T10:00:00.000Z';

const delegate = ({ callApi }: ApiScene, json: object = {}, as = ann) =>
  callApi('/api/delegations', { json: { delegate: 'user:cho', until: UNTIL, ...json }, as });

async function waiting(scene: ApiScene, id: string): Promise<void> {
  await scene.callApi('/api/runs', { json: { agent: 'trips', id }, as: operator });
  await scene.settle();
}

describeOnEachStorage('delegations over HTTP', (open) => {
  it('let the delegate see, find and decide the approvals of the person who is away', async () => {
    const scene = apiScene(await open());
    await waiting(scene, 'a');
    const path = '/api/runs/a/approvals/book';
    expect((await scene.callApi(path, { as: cho })).status).toBe(403);
    const made = await delegate(scene);
    expect([made.status, made.json]).toMatchObject([
      201,
      { person: 'user:ann', delegate: 'user:cho', until: UNTIL, createdBy: 'user:ann', groups: ['group:desk'] },
    ]);
    expect((await scene.callApi(path, { as: cho })).status).toBe(200);
    const { json: listed } = await scene.callApi('/api/approvals', { as: cho });
    expect(listed.approvals).toMatchObject([{ run: 'a', for: 'user:ann' }]);
    const decided = await scene.callApi(`${path}/decide`, { json: { answer: 'approve' }, as: cho });
    expect(decided.json).toMatchObject({
      status: 'APPROVED',
      votes: [{ by: 'user:cho', for: 'user:ann', delegation: { createdBy: 'user:ann', until: UNTIL } }],
    });
    await scene.callApi('/api/delegations/user:ann/end', { json: {}, as: ann });
    // Whoever voted still sees what came of it.
    expect((await scene.callApi(path, { as: cho })).status).toBe(200);
    expect((await scene.callApi(path, { as: eve })).status).toBe(403);
  });

  it('are made by a person for themself, and for others only by callers who answer for others', async () => {
    const scene = apiScene(await open());
    const refused = async (json: object, as: typeof ann) => {
      const { status, json: problem } = await delegate(scene, json, as);
      return [status, problem.code];
    };
    expect(await refused({ person: 'user:ann', delegate: 'user:eve' }, eve)).toEqual([403, 'NOT_ALLOWED']);
    expect(await refused({ createdBy: 'user:boss' }, ann)).toEqual([403, 'NOT_ALLOWED']);
    expect(await refused({ groups: ['group:board'] }, ann)).toEqual([403, 'NOT_ALLOWED']);
    expect(await refused({ person: 'user:ann' }, operator)).toEqual([403, 'NOT_ALLOWED']);
    expect(await refused({}, portal)).toEqual([403, 'NOT_ALLOWED']);
    expect(await refused({ delegate: 'user:ann' }, ann)).toEqual([400, 'INVALID_INPUT']);
    expect(await refused({ until: '2020-01-01T00:00:00Z' }, ann)).toEqual([400, 'INVALID_INPUT']);
    expect(await refused({ delegate: 'group:desk' }, ann)).toEqual([400, 'INVALID_INPUT']);
    const named = { person: 'user:ann', createdBy: 'user:boss', groups: ['group:desk'] };
    expect((await delegate(scene, named, portal)).json).toMatchObject(named);
  });

  it('are ended by the person, the delegate or a portal, and by nobody else', async () => {
    const scene = apiScene(await open());
    const end = async (as: typeof ann) => {
      const { status, json } = await scene.callApi('/api/delegations/user:ann/end', { json: {}, as });
      return status === 200 ? json.ended : json.code;
    };
    for (const as of [ann, cho, portal]) {
      await delegate(scene);
      expect(await end(eve)).toBe('NOT_ALLOWED');
      expect(await end(as)).toBe(true);
    }
    expect(await end(ann)).toBe(false);
  });

  it('are listed for the people they concern, and all of them for operators', async () => {
    const scene = apiScene(await open());
    await delegate(scene);
    const listed = async (as: typeof ann, query = '') => {
      const { json } = await scene.callApi(`/api/delegations${query}`, { as });
      return json.code ?? (json.delegations as { person: string }[]).map((each) => each.person);
    };
    for (const as of [ann, cho]) expect(await listed(as)).toEqual(['user:ann']);
    expect(await listed(eve)).toEqual([]);
    expect(await listed(eve, '?all=true')).toBe('NOT_ALLOWED');
    expect(await listed(eve, '?person=user:ann')).toBe('NOT_ALLOWED');
    expect(await listed(portal, '?person=user:cho')).toEqual(['user:ann']);
    expect(await listed(operator, '?all=true')).toEqual(['user:ann']);
    expect(await listed(operator)).toBe('NOT_ALLOWED');
    expect(await listed(caller({ tenant: 'other', person: 'user:cho', roles: ['approver'] }))).toEqual([]);
  });
});

describe('a decision over HTTP', () => {
  it('names the person for whom it is, and is refused for anyone who has not delegated it', async () => {
    const scene = apiScene();
    await waiting(scene, 'a');
    const decide = (json: object, as: typeof ann) =>
      scene.callApi('/api/runs/a/approvals/book/decide', { json: { answer: 'approve', ...json }, as });
    for (const as of [cho, eve]) expect((await decide({ for: 'user:ann' }, as)).status).toBe(403);
    await delegate(scene);
    expect((await decide({ for: 'user:ann' }, eve)).json.detail).toContain('cannot answer for "user:ann"');
    expect((await decide({ for: 'user:cho' }, cho)).status).toBe(400);
    expect((await decide({ for: 'user:ann' }, cho)).json.status).toBe('APPROVED');
  });
});
