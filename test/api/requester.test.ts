import { expect, it } from 'vitest';
import { describeOnEachStorage } from '../runtime/storages.ts';
import { apiScene, caller } from './scene.ts';

const ann = caller({ person: 'user:ann', roles: ['operator', 'starter', 'viewer'] });
const bob = caller({ person: 'user:bob', roles: ['operator', 'viewer'] });
const program = caller({ person: undefined as never, roles: ['starter', 'operator', 'viewer'] });
const shop = caller({ person: undefined as never, roles: ['starter', 'operator'], startsForOthers: true });
const portal = caller({ person: undefined as never, roles: ['starter', 'operator'], decidesForOthers: true });

describeOnEachStorage('the requester of a run over HTTP', (open) => {
  it('is the caller, and the body names someone else only for callers who may start runs for others', async () => {
    const { callApi } = apiScene(await open());
    const start = async (id: string, as: typeof ann, requestedBy?: string) => {
      const { status, json } = await callApi('/api/runs', { json: { agent: 'trips', id, requestedBy }, as });
      return status === 201 ? (await callApi(`/api/runs/${id}`)).json.requestedBy : json.code;
    };
    expect(await start('a', ann)).toBe('user:ann');
    expect(await start('b', ann, 'user:ann')).toBe('user:ann');
    expect(await start('c', ann, 'user:eve')).toBe('NOT_ALLOWED');
    expect(await start('d', program)).toBeUndefined();
    expect(await start('e', program, 'user:eve')).toBe('NOT_ALLOWED');
    expect(await start('f', shop, 'user:eve')).toBe('user:eve');
    expect(await start('g', portal, 'user:eve')).toBe('user:eve');
    expect(await start('h', shop, 'group:finance')).toBe('INVALID_INPUT');
  });

  it('is kept by a fork, and is the caller who forks if the run has none', async () => {
    const { callApi } = apiScene(await open());
    await callApi('/api/runs', { json: { agent: 'trips', id: 'of-ann' }, as: ann });
    await callApi('/api/runs', { json: { agent: 'trips', id: 'of-nobody' }, as: program });
    const fork = async (run: string, as: typeof ann) => {
      const { json } = await callApi(`/api/runs/${run}/fork`, { json: { id: `${run}-2` }, as });
      return (await callApi(`/api/runs/${json.run}`)).json.requestedBy;
    };
    expect([await fork('of-ann', bob), await fork('of-nobody', bob)]).toEqual(['user:ann', 'user:bob']);
    const named = await callApi('/api/runs/of-nobody/fork', { json: { requestedBy: 'user:eve' }, as: bob });
    expect(named.status).toBe(400);
  });

  it('is the caller who saves the first checkpoint of a run', async () => {
    const { callApi } = apiScene(await open());
    const save = (run: string, version: number, json: object, as: typeof ann) =>
      callApi(`/api/runs/${run}/checkpoints`, { json, as, headers: { 'if-match': `"${version}"` } });
    await save('s', 0, { agent: 'quotes', state: 1 }, ann);
    await save('s', 1, { state: 2 }, bob);
    expect((await callApi('/api/runs/s')).json.requestedBy).toBe('user:ann');
    expect((await save('s', 2, { requestedBy: 'user:bob' }, bob)).json.code).toBe('INVALID_INPUT');
    expect((await save('t', 0, { requestedBy: 'user:eve' }, bob)).json.code).toBe('NOT_ALLOWED');
    expect((await save('t', 0, { requestedBy: 'user:eve' }, shop)).status).toBe(201);
    const approval = { name: 'buy', title: 'Buy?', approvers: ['user:ann', 'user:cho'], excludeRequester: true };
    const asked = await callApi('/api/runs/s/approvals', {
      json: { approval },
      as: bob,
      headers: { 'if-match': '"2"' },
    });
    expect(asked.status).toBe(201);
    const decide = (person: 'user:ann' | 'user:cho') =>
      callApi('/api/runs/s/approvals/buy/decide', {
        json: { answer: 'approve' },
        as: caller({ person, roles: ['approver'] }),
      });
    const refused = await decide('user:ann');
    expect([refused.status, refused.json.code]).toEqual([403, 'NOT_AN_APPROVER']);
    expect((await decide('user:cho')).json).toMatchObject({ status: 'APPROVED', requestedBy: 'user:ann' });
  });
});
