import * as z from 'zod';
import type { Doc } from '../../checkpoints/engine.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { OPERATE_ROLES } from '../../http/roles.ts';
import type { ForkInput } from '../../operator/operator.ts';
import { type Route, route } from '../route.ts';
import { namedSchema } from '../schemas/named.ts';
import { Cancelled, Forked, RestartPreview, Rewound, Signalled } from '../schemas/runs.ts';
import { Document, Name, RunId, runParams, Tags, Version } from '../schemas/values.ts';
import { LOCATION_DESCRIPTION, locationHeader } from './location.ts';

const previewResponse = (description: string) => ({ description, schema: RestartPreview });

const NO_CONTENT = { description: 'Done' };

/** Routes that change runs: signal, cancel, retry, rewind, fork. */
export const RUN_CHANGE_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/runs/{run}/signals',
    access: OPERATE_ROLES,
    name: 'signalRun',
    params: runParams,
    summary: 'Send a signal. A repeated id sends it once; a signal to a run that has not started yet is kept for it',
    body: {
      schema: namedSchema(
        'Signal',
        z.strictObject({
          name: z.string().min(1).max(200),
          value: Document.optional(),
          id: z.string().min(1).max(200).optional(),
        }),
      ),
    },
    responses: {
      201: { description: 'Sent', schema: Signalled },
      200: { description: 'Sent before', schema: Signalled },
    },
    problems: [404, 409, 410],
    async handle({ operator, params: { run }, body }) {
      const { name, value, id } = await body();
      const isNew = await operator.signal(run, {
        name,
        ...omitUndefined({ id }),
        ...(value !== undefined && { value: value as Doc }),
      });
      return { status: isNew ? 201 : 200, json: { run, isNew } };
    },
  }),

  route({
    method: 'POST',
    path: '/api/runs/{run}/cancel',
    access: OPERATE_ROLES,
    name: 'cancelRun',
    params: runParams,
    summary: 'Cancel a run: completed steps are undone, then the run ends',
    body: {
      schema: namedSchema('Cancel', z.strictObject({ reason: z.string().min(1).max(2000).optional() })),
    },
    responses: { 200: { description: 'The new status', schema: Cancelled } },
    problems: [404, 409, 410],
    async handle({ operator, params: { run }, body }) {
      const { reason } = await body();
      return { status: 200, json: { run, status: await operator.cancel(run, reason) } };
    },
  }),

  route({
    method: 'POST',
    path: '/api/runs/{run}/retry',
    access: OPERATE_ROLES,
    name: 'retryRun',
    params: runParams,
    summary: 'Retry a failed run: it resumes at the operation that failed',
    body: { schema: namedSchema('Retry', z.strictObject({})) },
    responses: { 204: NO_CONTENT },
    problems: [404, 409, 410],
    async handle({ operator, params: { run }, body }) {
      await body();
      await operator.retry(run);
      return new Response(null, { status: 204 });
    },
  }),

  route({
    method: 'POST',
    path: '/api/runs/{run}/rewind',
    access: OPERATE_ROLES,
    name: 'rewindRun',
    params: runParams,
    summary: 'Rewind a run to an earlier checkpoint, optionally with another state',
    body: {
      schema: namedSchema(
        'Rewind',
        z.strictObject({
          version: Version.optional(),
          name: Name.optional().describe('The name of the checkpoint, instead of its version'),
          state: Document.optional().describe('The state to resume with; only for durable runs'),
          newKeys: z
            .boolean()
            .optional()
            .describe('Use new idempotency keys, so that services treat repeated steps as new requests'),
        }),
      ),
    },
    responses: {
      200: { description: 'The run at its new version', schema: Rewound, headers: { etag: 'The version, in quotes' } },
    },
    problems: [404, 409, 410],
    async handle({ operator, params: { run }, body }) {
      const { version, name = '', newKeys, state } = await body();
      if ((version === undefined) === (name === ''))
        throw invalidInput('A rewind', 'sent with either `version` or `name`', 'both or neither');
      const options = omitUndefined({ newKeys, state: state as Doc | undefined });
      const rewound = await operator.rewind(run, version ?? { name }, options);
      return { status: 200, json: rewound, headers: { etag: `"${rewound.version}"` } };
    },
  }),

  route({
    method: 'GET',
    path: '/api/runs/{run}/restart',
    access: OPERATE_ROLES,
    name: 'previewRestart',
    params: runParams,
    summary: 'List the steps that run again after a rewind to a checkpoint, or a fork from it. Nothing is changed',
    query: z.strictObject({
      version: z.coerce.number().int().min(1).optional().describe('Default: the newest checkpoint'),
      name: Name.optional().describe('The name of the checkpoint, instead of its version'),
      action: z.enum(['rewind', 'fork']).optional().describe('Default: rewind'),
    }),
    responses: { 200: previewResponse('The steps that run again, and what another state changes') },
    problems: [404, 409, 410],
    async handle({ operator, params: { run }, query: { version, name, action = 'rewind' } }) {
      if (version !== undefined && name !== undefined)
        throw invalidInput('A query', 'sent with `version` or `name`', 'both');
      const to = version ?? (name === undefined ? undefined : { name });
      return { status: 200, json: await operator.previewRestart(run, to, action) };
    },
  }),

  route({
    method: 'POST',
    path: '/api/runs/{run}/fork',
    access: OPERATE_ROLES,
    name: 'forkRun',
    params: runParams,
    description:
      'The new run keeps the requester of the original; if that has none, it is the caller. Steps after the checkpoint run again in the new run, with new idempotency keys. `GET /api/runs/{run}/restart` lists them before.',
    summary: 'Fork a new run from a checkpoint, optionally with another state or other results',
    body: {
      schema: namedSchema(
        'Fork',
        z.strictObject({
          version: Version.optional(),
          name: Name.optional().describe('The name of the checkpoint, instead of its version'),
          id: RunId.optional().describe('The id of the new run'),
          state: Document.optional().describe('The whole state that the fork starts with'),
          toolResults: z.record(z.string(), Document).optional().describe('Replacements for recorded results, by id'),
          owner: Name.optional(),
          tags: Tags.optional(),
        }),
      ),
    },
    responses: { 201: { description: 'The new run', schema: Forked, headers: LOCATION_DESCRIPTION } },
    problems: [404, 409, 410],
    async handle({ operator, caller, params: { run }, body }) {
      const { version, name, ...rest } = await body();
      if (version !== undefined && name !== undefined)
        throw invalidInput('A fork', 'sent with `version` or `name`', 'both');
      const input = omitUndefined({ version, name, ...rest, requestedBy: caller.person });
      const forked = await operator.fork(run, input as ForkInput);
      return { status: 201, json: { run: forked }, headers: locationHeader(forked) };
    },
  }),
];
