import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { ROLES } from '../../../lambda/http/caller.ts';
import { type Check, CheckFailed, expectEqual, expectStatus, read, until } from './check.ts';

const Me = z.object({ tenant: z.string(), roles: z.array(z.enum(ROLES)), decidesForOthers: z.boolean() });

/** All other checks depend on this one. */
export const ANSWERS: Check = {
  name: 'the API accepts the caller',
  async run(scene) {
    // Permissions and stages take effect a moment after CloudFormation has completed.
    const me = await until(scene, { what: 'A response to a signed GET /api/me', seconds: 90 }, async () => {
      const response = await scene.api('GET', '/api/me');
      if (response.status === 200) return { found: read(response, 200, Me) };
      const advice = response.status === 403 ? '; check that you have execute-api:Invoke' : '';
      return { instead: `${response.status} ${JSON.stringify(response.body)}${advice}` };
    });
    expectEqual('The caller', me, { tenant: 'default', roles: ['operator', 'approver'], decidesForOthers: true });
  },
};

export const UNSIGNED: Check = {
  name: 'requests without a valid signature are refused',
  async run({ api }) {
    const start = { body: { agent: 'refunds', id: 'integ-unsigned' } };
    expectStatus(await api('GET', '/api/runs', { signed: false }), 401, 403);
    expectStatus(await api('GET', '/console', { signed: false }), 401, 403);
    expectStatus(await api('POST', '/api/runs', { signed: false, ...start }), 401, 403);
    expectStatus(await api('POST', '/api/runs', { headers: { 'x-amz-date': '20200101T000000Z' }, ...start }), 401, 403);
    expectStatus(await api('GET', '/api/runs/integ-unsigned'), 404);
  },
};

export const LINKS: Check = {
  name: 'an unknown approval link is refused by the application, without a signature',
  async run({ api }) {
    const path = `/approvals/${randomBytes(32).toString('base64url')}`;
    const sent = { signed: false, body: { answer: 'approve' } };
    for (const response of [await api('GET', path, { signed: false }), await api('POST', path, sent)]) {
      expectStatus(response, 404);
      const { code } = Object(response.body) as { code?: unknown };
      // A response of API Gateway has no code.
      if (code !== 'APPROVAL_NOT_FOUND')
        throw new CheckFailed(`${response.request} must be handled by the application; found code ${String(code)}.`);
    }
  },
};
