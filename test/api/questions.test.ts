import { describe, expect, it } from 'vitest';
import { caller } from '../console/scene.ts';
import { apiScene } from './scene.ts';

/** A run that an agent in another language left with a question. */
async function asked(question: object) {
  const scene = apiScene();
  await scene.callApi('/api/runs', { json: { agent: 'quotes', id: 'q' } });
  await scene.callApi('/api/claims', { json: { agents: ['quotes'], wait: { seconds: 0 } } });
  const approval = { name: 'seat', title: 'Seat?', approvers: ['user:ann', 'user:bob'], ...question };
  const request = () => scene.callApi('/api/runs/q/approvals', { json: { approval }, headers: { 'if-match': '"2"' } });
  const decide = (json: object, person: `user:${string}` = 'user:ann') =>
    scene.callApi('/api/runs/q/approvals/seat/decide', { json, as: caller({ person }) });
  return { scene, request, decide };
}

describe('a question over HTTP', () => {
  it('is asked, refused field by field, answered, and shown in lists', async () => {
    const answerSchema = {
      type: 'object',
      properties: { row: { type: 'integer', minimum: 1 }, seat: { enum: ['a', 'b'] } },
      required: ['row', 'seat'],
    };
    const { scene, request, decide } = await asked({ answerSchema, quorum: 2 });
    expect(await request()).toMatchObject({ status: 201, json: { suspended: true } });
    expect(await decide({ value: { row: 0 } })).toMatchObject({
      status: 400,
      json: { code: 'SCHEMA_REFUSED', errors: [{ path: '/value/seat' }, { path: '/value/row' }] },
    });
    expect(await decide({})).toMatchObject({ status: 400 });
    expect(await decide({ answer: 'approve' })).toMatchObject({ status: 400, json: { code: 'INVALID_INPUT' } });
    const value = { row: 1, seat: 'a' };
    expect(await decide({ value })).toMatchObject({ status: 200, json: { status: 'PENDING', answer: { value } } });
    const { json } = await scene.callApi('/api/approvals', { as: caller({ person: 'user:bob' }) });
    expect(json).toMatchObject({
      approvals: [{ answerSchema, answer: { by: 'user:ann', value }, votes: [{ by: 'user:ann' }] }],
    });
    expect(JSON.stringify(json)).not.toContain('"votes":[{"value"');
    expect(await decide({ value }, 'user:bob')).toMatchObject({ json: { status: 'APPROVED' } });
  });

  it('is declined by a rejection, and not approved together with others', async () => {
    const { scene, request, decide } = await asked({ text: true });
    await request();
    const { contentHash } = (await scene.callApi('/api/runs/q/approvals/seat')).json as { contentHash: string };
    const approvals = [{ run: 'q', approval: 'seat', contentHash }];
    const together = await scene.callApi('/api/approvals/decide', { json: { answer: 'approve', approvals } });
    expect(together.json).toMatchObject({ results: [{ problem: { code: 'INVALID_INPUT' } }] });
    expect(await decide({ answer: 'reject' })).toMatchObject({ json: { status: 'REJECTED' } });
  });

  it('is listed with a small answer and schema, however large they are', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 90 }, (_, i) => [`f${i}`, { type: 'string', title: 'x'.repeat(80) }]),
    );
    const { scene, request, decide } = await asked({ answerSchema: { type: 'object', properties }, quorum: 2 });
    expect((await request()).status).toBe(201);
    const value = Object.fromEntries(Object.keys(properties).map((name) => [name, 'y'.repeat(600)]));
    expect((await decide({ value })).status).toBe(200);
    const list = (await scene.callApi('/api/approvals?all=true')).json;
    expect(list).toMatchObject({ approvals: [{ answerSchema: {} }] });
    expect(JSON.stringify(list).length).toBeLessThan(12_000);
    const one = (await scene.callApi('/api/runs/q/approvals/seat')).json;
    expect(one).toMatchObject({ answerSchema: { properties }, answer: { value } });
  });

  it('is refused if its terms are unclear', async () => {
    for (const terms of [
      { choices: ['a'] },
      { choices: ['a', 'b'], text: true },
      { multiple: true },
      { text: 'yes' },
    ]) {
      const { request } = await asked(terms);
      expect(await request()).toMatchObject({ status: 400, json: { code: 'INVALID_INPUT' } });
    }
  });
});
