import * as z from 'zod';
import { withoutAgentCode, withTenant } from '../../checkpoints/engine.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { AppOptions } from '../../http/app-options.ts';
import { MAX_CONTENT_BYTES } from '../../http/limits.ts';
import { WORK_ROLES } from '../../http/roles.ts';
import type { Operator } from '../../operator/operator.ts';
import { claimForWorker, releaseForWorker, renewForWorker } from '../../protocol/claims.ts';
import { deliverIfReady } from '../../runtime/wake/wake.ts';
import { type Route, route } from '../route.ts';
import { LeasedRun } from '../schemas/claims.ts';
import { Claimed } from '../schemas/invocation.ts';
import { namedSchema } from '../schemas/named.ts';
import { Duration, Name, runParams } from '../schemas/values.ts';

const LeaseId = z.string().min(1).max(400).describe('The `id` of the lease');

/** Routes for workers: processes in any language that ask for runs and execute them. */
export const CLAIM_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/claims',
    access: WORK_ROLES,
    name: 'claimRun',
    summary: 'Claim the next ready run of some agents, and get everything that is needed to resume it',
    description:
      'Waits up to `wait` for a run. The worker has the run until its lease ends: renew it while it works. A run that suspends or ends needs no release.',
    headers: z.strictObject({
      'idempotency-key': z.string().min(1).max(200).optional().describe('Identifies the request for `repeats`'),
    }),
    body: {
      schema: namedSchema(
        'Claim',
        z.strictObject({
          agents: z.array(Name).min(1).max(50).describe('The agents that the worker executes'),
          worker: z.string().min(1).max(100).optional().describe('The name of the worker, for people'),
          lease: Duration.optional().describe('From 5 seconds to 15 minutes. Default: 1 minute'),
          wait: Duration.optional().describe('At most 20 seconds, which is the default'),
          repeats: z
            .boolean()
            .optional()
            .describe('Repeats a request with the same Idempotency-Key whose response did not arrive'),
        }),
      ),
    },
    responses: {
      200: { description: 'The claimed run', schema: Claimed, headers: { etag: 'The version, in quotes' } },
      204: { description: 'No run became ready in time' },
    },
    async handle({ api, operator, headers, body, context }) {
      const { agents, worker, lease, wait, repeats } = await body();
      api.workers?.onAsk(agents, worker);
      const { runtime, signedUrls, telemetry } = api;
      const claimed = await claimForWorker(
        {
          contexts: contextsOf(api, operator),
          runtime: { clock: runtime.clock, log: telemetry.log },
          signedUrls,
          maxBytes: MAX_CONTENT_BYTES,
        },
        {
          agents,
          worker,
          repeats,
          lease: lease && omitUndefined(lease),
          wait: wait && omitUndefined(wait),
          key: headers['idempotency-key'],
          signal: context.req.raw.signal,
        },
      );
      if (!claimed) return new Response(null, { status: 204 });
      const { run, agent } = claimed;
      const { version, status } = claimed.checkpoint;
      telemetry.count('Delivered');
      api.workers?.onClaim({ run, agent, version, status }, worker);
      return { status: 200, json: claimed, headers: { etag: `"${version}"` } };
    },
  }),

  route({
    method: 'POST',
    path: '/api/runs/{run}/lease',
    access: WORK_ROLES,
    name: 'renewLease',
    params: runParams,
    summary: 'Renew the lease of a worker, from now on',
    body: { schema: namedSchema('RenewLease', z.strictObject({ lease: LeaseId, for: Duration.optional() })) },
    responses: { 200: { description: 'The status of the run, and its lease', schema: LeasedRun } },
    problems: [404, 409, 410],
    async handle({ api, operator, params: { run }, body }) {
      const { lease, for: duration } = await body();
      const renewed = { lease, for: duration && omitUndefined(duration) };
      return { status: 200, json: await renewForWorker(contextsOf(api, operator), run, renewed) };
    },
  }),

  route({
    method: 'POST',
    path: '/api/runs/{run}/release',
    access: WORK_ROLES,
    name: 'releaseRun',
    params: runParams,
    summary: 'Give a claimed run back: another worker can claim it immediately',
    body: {
      schema: namedSchema(
        'Release',
        z.strictObject({
          lease: LeaseId,
          attempted: z
            .boolean()
            .optional()
            .describe('False if nothing was executed; the claim then does not count as an attempt. Default: true'),
        }),
      ),
    },
    responses: { 200: { description: 'The status of the run', schema: LeasedRun } },
    problems: [404, 409, 410],
    async handle({ api, operator, params: { run }, body }) {
      const contexts = contextsOf(api, operator);
      const released = await releaseForWorker(contexts, run, await body());
      await deliverIfReady(api.runtime, await contexts.forRun(run));
      return { status: 200, json: released };
    },
  }),
];

const contextsOf = ({ runtime }: AppOptions, { tenant }: Operator) =>
  withoutAgentCode(withTenant(runtime.contexts, tenant));
