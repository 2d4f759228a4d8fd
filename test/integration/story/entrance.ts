import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { ROLES } from '../../../lambda/http/caller.ts';
import { type Check, CheckFailed, expectEqual, expectStatus, read, until } from './check.ts';

const Me = z.object({ tenant: z.string(), roles: z.array(z.enum(ROLES)), answersForOthers: z.boolean() });

/** Nothing else can be looked at before this. */
export const ANSWERS: Check = {
  name: 'the API answers who deployed it',
  async run(scene) {
    // Permissions and stages are there a moment after CloudFormation says so.
    const me = await until(scene, { what: 'An answer to a signed GET /api/me', seconds: 90 }, async () => {
      const answer = await scene.api('GET', '/api/me');
      if (answer.status === 200) return { found: read(answer, 200, Me) };
      const advice = answer.status === 403 ? '; may you do execute-api:Invoke on it?' : '';
      return { instead: `${answer.status} ${JSON.stringify(answer.body)}${advice}` };
    });
    expectEqual('The caller', me, { tenant: 'default', roles: ['operator', 'approver'], answersForOthers: true });
  },
};

export const UNSIGNED: Check = {
  name: 'without a signature, or with that of another request, it answers nobody',
  async run({ api }) {
    const start = { body: { agent: 'refunds', id: 'integ-nobody' } };
    expectStatus(await api('GET', '/api/runs', { signed: false }), 401, 403);
    expectStatus(await api('GET', '/console', { signed: false }), 401, 403);
    expectStatus(await api('POST', '/api/runs', { signed: false, ...start }), 401, 403);
    expectStatus(await api('POST', '/api/runs', { headers: { 'x-amz-date': '20200101T000000Z' }, ...start }), 401, 403);
    expectStatus(await api('GET', '/api/runs/integ-nobody'), 404);
  },
};

export const LINKS: Check = {
  name: 'a link that nobody made opens nothing, and needs no signature to say so',
  async run({ api }) {
    const path = `/approvals/${randomBytes(32).toString('base64url')}`;
    const sent = { signed: false, body: { answer: 'approve' } };
    for (const answer of [await api('GET', path, { signed: false }), await api('POST', path, sent)]) {
      expectStatus(answer, 404);
      const { code } = Object(answer.body) as { code?: unknown };
      // That of API Gateway has none.
      if (code !== 'APPROVAL_NOT_FOUND')
        throw new CheckFailed(`${answer.request} must be answered by the application; found ${String(code)}.`);
    }
  },
};
