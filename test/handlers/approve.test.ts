import { beforeAll, describe, expect, it } from 'vitest';
import { localKeys } from '../../lambda/checkpoints/keys.ts';
import { HoldpointError } from '../../lambda/core/errors.ts';
import { createApprove } from '../../lambda/handlers/approve.ts';
import { HTTP_STATUS } from '../../lambda/api/http-status.ts';
import { withdraw } from '../../lambda/runtime/approvals/decide.ts';
import { revokeToken } from '../../lambda/runtime/approvals/tokens.ts';
import { linkFor } from '../runtime/approvals/scene.ts';
import { type HandlerScene, handlerScene, httpEvent } from './scene.ts';

let scene: HandlerScene;
let runs = 0;

beforeAll(async () => {
  scene = await handlerScene({ keys: localKeys({ current: 'k', keys: { k: Buffer.alloc(32, 9) } }) });
});

/** An approval of a new run, and a link of one of its approvers. */
async function asked(approval: object = {}) {
  const run = `run-${++runs}`;
  await scene.checkpoint({ holdpoint: 1, action: 'save', run, expectedVersion: 0, agent: 'quotes', state: 1 });
  const request = {
    name: 'buy',
    title: 'Buy?',
    approvers: ['user:ann', 'user:bob'],
    timeout: { days: 1 },
    ...approval,
  };
  const given = { holdpoint: 1, action: 'requestApproval', run, expectedVersion: 1, approval: request };
  expect(await scene.checkpoint(given)).toMatchObject({ ok: true });
  const at = await scene.contexts.inRun(run);
  const linkOf = (person: string) =>
    linkFor(at, { tenant: at.tenant, run, approval: 'buy', person, expiresAt: scene.clock.now() + 7 * 86_400_000 });
  return { at, linkOf, token: await linkOf('user:ann') };
}

const post = (token: string, body: object, more = {}) =>
  scene.approve(httpEvent('POST', token, JSON.stringify(body), more));
const codeOf = ({ body }: { body: string }) => JSON.parse(body).code;

describe('a link', () => {
  it('shows what is asked and changes nothing, however often it is looked at', async () => {
    const { at, token } = await asked({ show: { when: { $: ['date', 0] }, lines: [1, 2] }, facts: { price: 3 } });
    const before = await scene.storage.records.range(at.partition);
    const shown = await scene.approve(httpEvent('GET', token));
    expect(shown).toMatchObject({
      statusCode: 200,
      headers: {
        'content-type': 'application/json',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      },
    });
    expect(JSON.parse(shown.body)).toMatchObject({
      ...{ title: 'Buy?', status: 'PENDING', show: { when: { $: ['date', 0] }, lines: [1, 2] }, facts: { price: 3 } },
    });
    expect((await scene.approve(httpEvent('HEAD', token))).body).toBe('');
    expect(await scene.storage.records.range(at.partition)).toEqual(before);
  });

  it('decides, gives the recorded decision for the same answer, and refuses another', async () => {
    const { token } = await asked();
    const first = await post(token, { answer: 'approve', comment: 'fine' });
    expect(first.statusCode).toBe(200);
    expect(JSON.parse(first.body)).toMatchObject({ status: 'APPROVED', votes: [{ by: 'user:ann', comment: 'fine' }] });
    const again = await post(token, { answer: 'approve', comment: 'other words' });
    expect([again.statusCode, again.body]).toEqual([200, first.body]);
    const other = await post(token, { answer: 'reject' });
    expect([other.statusCode, codeOf(other)]).toEqual([409, 'APPROVAL_DECIDED']);
    expect(other.headers['content-type']).toBe('application/problem+json');
  });

  it('takes forms, and bodies in base64', async () => {
    const { token, linkOf } = await asked({ quorum: 2, editable: true });
    const form = { headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' } };
    const body = 'answer=approve&comment=&edits=%7B%22price%22%3A2%7D';
    const first = await scene.approve(httpEvent('POST', token, body, form));
    expect(JSON.parse(first.body).votes[0]).toMatchObject({ edits: { price: 2 } });
    const encoded = Buffer.from('{"answer":"approve","comment":"über"}').toString('base64');
    const second = await scene.approve(httpEvent('POST', await linkOf('user:bob'), encoded, { isBase64Encoded: true }));
    expect(JSON.parse(second.body)).toMatchObject({ status: 'APPROVED', votes: [{}, { comment: 'über' }] });
  });

  it('is gone when the approval has expired or was withdrawn', async () => {
    const expired = await asked({ timeout: { minutes: 1 } });
    scene.clock.moveTo(scene.clock.now() + 60_000);
    const late = await post(expired.token, { answer: 'approve' });
    expect([late.statusCode, codeOf(late)]).toEqual([410, 'APPROVAL_EXPIRED']);
    const { at, token } = await asked();
    await withdraw(at, 'buy', 'No longer needed.');
    const needless = await post(token, { answer: 'approve' });
    expect([needless.statusCode, codeOf(needless)]).toEqual([410, 'APPROVAL_WITHDRAWN']);
    expect(JSON.parse((await scene.approve(httpEvent('GET', token))).body).status).toBe('WITHDRAWN');
  });

  it('answers in the same words whether it is forged, malformed, revoked, or of a run that is gone', async () => {
    const { token } = await asked();
    const revoked = (await asked()).token;
    await revokeToken(await scene.contexts.context(), revoked);
    const forged = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
    const wrong = [forged, revoked, '', '../../etc/passwd', 'ü'.repeat(3000), '%00', token.toUpperCase()];
    const answers = new Set<string>();
    for (const each of wrong) {
      answers.add(JSON.stringify(await scene.approve(httpEvent('GET', each))));
      answers.add(JSON.stringify(await post(each, { answer: 'approve' })));
    }
    answers.add(JSON.stringify(await scene.approve({ requestContext: { http: { method: 'GET' } } })));
    expect(answers.size).toBe(1);
    expect(JSON.parse([...answers][0] ?? '')).toMatchObject({ statusCode: 404 });
  });

  it.each([
    ['nothing', undefined],
    ['no JSON', '{'],
    ['a list', '[]'],
    ['null', 'null'],
    ['no answer', '{}'],
    ['another answer', '{"answer":"maybe"}'],
    ['an answer of another kind', '{"answer":["approve"]}'],
    ['a field that nobody knows', '{"answer":"approve","by":"user:root"}'],
    ['a comment that is no text', '{"answer":"approve","comment":{"a":1}}'],
    ['what is shown as a number', '{"answer":"approve","shown":1}'],
    ['the hash of something else', '{"answer":"approve","shown":"00"}'],
    ['edits where there may be none', '{"answer":"approve","edits":{}}'],
    ['a prototype', '{"answer":"approve","__proto__":{"comment":"x"}}'],
    ['nesting', `{"answer":"approve","edits":${'['.repeat(40_000)}${']'.repeat(40_000)}}`],
  ])('refuses %s, and has decided nothing', async (_, body) => {
    const { token } = await asked();
    const answer = await scene.approve(httpEvent('POST', token, body));
    expect([answer.statusCode, codeOf(answer)]).toEqual([400, 'INVALID_INPUT']);
    expect(JSON.parse((await scene.approve(httpEvent('GET', token))).body)).toMatchObject({
      status: 'PENDING',
      votes: [],
    });
  });

  it('refuses bodies above 100 KB, other content types and other methods', async () => {
    const { token } = await asked();
    const large = await post(token, { answer: 'approve', comment: 'x'.repeat(110_000) });
    expect(large.statusCode).toBe(413);
    const xml = await scene.approve(httpEvent('POST', token, '<a/>', { headers: { 'content-type': 'text/xml' } }));
    expect(xml.statusCode).toBe(400);
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await scene.approve(httpEvent(method, token));
      expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, HEAD, POST']);
    }
  });

  it.each([
    [new Error('SECRET'), 503],
    [new HoldpointError('STORAGE_DENIED', 'Allow dynamodb:Query on the table "SECRET".'), 500],
    [new HoldpointError('STORAGE_UNAVAILABLE', 'SECRET'), 503],
  ])('says nothing of what went wrong inside: %s', async (error, status) => {
    const contexts = { ...scene.contexts, context: () => Promise.reject(error) };
    const observing = { log: () => {}, count: () => {}, invocation: <T>(run: () => Promise<T>) => run() };
    for (const method of ['GET', 'POST']) {
      const answer = await createApprove({ contexts, observing })(httpEvent(method, 'x', '{"answer":"approve"}'));
      expect(answer.statusCode).toBe(status);
      expect(answer.body).not.toContain('SECRET');
    }
  });

  it('has an HTTP status for every error', () => {
    for (const status of Object.values(HTTP_STATUS)) expect(status).toBeGreaterThanOrEqual(400);
  });
});
