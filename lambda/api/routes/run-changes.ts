import * as z from 'zod';
import type { Doc } from '../../checkpoints/engine.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { OPERATE_ROLES } from '../../http/roles.ts';
import type { ForkInput } from '../../operator/operator.ts';
import { type Route, route } from '../route.ts';
import { namedSchema } from '../schemas/named.ts';
import { Cancelled, Forked, Signalled } from '../schemas/runs.ts';
import { Document, Name, RunId, runParams, Tags, Version } from '../schemas/values.ts';
import { LOCATION_DESCRIPTION, locationHeader } from './location.ts';

const NO_CONTENT = { description: 'Done' };

/** What is done to runs: signal, cancel, retry, rewind, fork. */
export const RUN_CHANGE_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/runs/{run}/signals',
    access: OPERATE_ROLES,
    name: 'signalRun',
    params: runParams,
    summary: 'Sends a signal; the same id twice sends one. One to a run that has not been started is kept for it',
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
      201: { description: 'It was sent', schema: Signalled },
      200: { description: 'It had been sent before', schema: Signalled },
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
    summary: 'Cancels a run: what it did is undone, then it has ended',
    body: {
      schema: namedSchema('Cancel', z.strictObject({ reason: z.string().min(1).max(2000).optional() })),
    },
    responses: { 200: { description: 'The status that it has now', schema: Cancelled } },
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
    summary: 'Lets a run that failed go on from where it was',
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
    summary: 'Lets a run go on from an earlier checkpoint of its own, perhaps with another state',
    body: {
      schema: namedSchema(
        'Rewind',
        z.strictObject({
          version: Version.optional(),
          name: Name.optional().describe('The name of the checkpoint, instead of its version'),
          state: Document.optional().describe('Another state to go on with, of a durable run'),
          newKeys: z.boolean().optional().describe('Whether services take steps that run again for new work'),
        }),
      ),
    },
    responses: { 204: NO_CONTENT },
    problems: [404, 409, 410],
    async handle({ operator, params: { run }, body }) {
      const { version, name = '', newKeys, state } = await body();
      if ((version === undefined) === (name === ''))
        throw invalidInput('A rewind', 'given `version` or `name`', 'both or none');
      await operator.rewind(run, version ?? { name }, omitUndefined({ newKeys, state: state as Doc | undefined }));
      return new Response(null, { status: 204 });
    },
  }),

  route({
    method: 'POST',
    path: '/api/runs/{run}/fork',
    access: OPERATE_ROLES,
    name: 'forkRun',
    params: runParams,
    summary: 'Begins a new run at a checkpoint, perhaps with another state or other results',
    body: {
      schema: namedSchema(
        'Fork',
        z.strictObject({
          version: Version.optional(),
          name: Name.optional().describe('The name of the checkpoint, instead of its version'),
          id: RunId.optional().describe('The id of the new run'),
          state: Document.optional().describe('The whole state that it begins with'),
          toolResults: z.record(z.string(), Document).optional().describe('Other results, by id'),
          owner: Name.optional(),
          tags: Tags.optional(),
        }),
      ),
    },
    responses: { 201: { description: 'The new run', schema: Forked, headers: LOCATION_DESCRIPTION } },
    problems: [404, 409, 410],
    async handle({ operator, params: { run }, body }) {
      const { version, name, ...rest } = await body();
      if (version !== undefined && name !== undefined)
        throw invalidInput('A fork', 'given `version` or `name`', 'both');
      const forked = await operator.fork(run, omitUndefined({ version, name, ...rest }) as ForkInput);
      return { status: 201, json: { run: forked }, headers: locationHeader(forked) };
    },
  }),
];
