import * as z from 'zod';
import type { Doc } from '../../checkpoints/document/document.ts';
import { refused } from '../../core/invalid-input.ts';
import { present } from '../../core/omit-undefined.ts';
import { OPERATE } from '../../http/roles.ts';
import type { ForkInput } from '../../operator/operator.ts';
import { type Route, route } from '../route.ts';
import { named } from '../schemas/named.ts';
import { Cancelled, Forked, Signalled } from '../schemas/runs.ts';
import { Document, Name, ofRun, RunId, Tags, Version } from '../schemas/values.ts';
import { LOCATION, locationOf } from './location.ts';

const NO_CONTENT = { description: 'Done' };

/** What is done to runs: signal, cancel, retry, rewind, fork. */
export const CHANGE_ROUTES: readonly Route[] = [
  route({
    ...{ method: 'POST', path: '/api/runs/{run}/signals', may: OPERATE, name: 'signalRun', params: ofRun },
    summary: 'Sends a signal; the same id twice sends one. One to a run that has not been started is kept for it',
    body: {
      schema: named(
        'Signal',
        z.strictObject({
          name: z.string().min(1).max(200),
          value: Document.optional(),
          id: z.string().min(1).max(200).optional(),
        }),
      ),
    },
    answers: {
      201: { description: 'It was sent', schema: Signalled },
      200: { description: 'It had been sent before', schema: Signalled },
    },
    problems: [404, 409, 410],
    async handle({ desk, params: { run }, body }) {
      const { name, value, id } = await body();
      const isNew = await desk.signal(run, {
        name,
        ...present({ id }),
        ...(value !== undefined && { value: value as Doc }),
      });
      return { status: isNew ? 201 : 200, json: { run, isNew } };
    },
  }),

  route({
    ...{ method: 'POST', path: '/api/runs/{run}/cancel', may: OPERATE, name: 'cancelRun', params: ofRun },
    summary: 'Cancels a run: what it did is undone, then it has ended',
    body: {
      schema: named('Cancel', z.strictObject({ reason: z.string().min(1).max(2000).optional() })),
    },
    answers: { 200: { description: 'The status that it has now', schema: Cancelled } },
    problems: [404, 409, 410],
    async handle({ desk, params: { run }, body }) {
      const { reason } = await body();
      return { status: 200, json: { run, status: await desk.cancel(run, reason) } };
    },
  }),

  route({
    ...{ method: 'POST', path: '/api/runs/{run}/retry', may: OPERATE, name: 'retryRun', params: ofRun },
    summary: 'Lets a run that failed go on from where it was',
    body: { schema: named('Retry', z.strictObject({})) },
    answers: { 204: NO_CONTENT },
    problems: [404, 409, 410],
    async handle({ desk, params: { run }, body }) {
      await body();
      await desk.retry(run);
      return new Response(null, { status: 204 });
    },
  }),

  route({
    ...{ method: 'POST', path: '/api/runs/{run}/rewind', may: OPERATE, name: 'rewindRun', params: ofRun },
    summary: 'Lets a run go on from an earlier checkpoint of its own, perhaps with another state',
    body: {
      schema: named(
        'Rewind',
        z.strictObject({
          version: Version.optional(),
          name: Name.optional().describe('The name of the checkpoint, instead of its version'),
          state: Document.optional().describe('Another state to go on with, of a durable run'),
          newKeys: z.boolean().optional().describe('Whether services take steps that run again for new work'),
        }),
      ),
    },
    answers: { 204: NO_CONTENT },
    problems: [404, 409, 410],
    async handle({ desk, params: { run }, body }) {
      const { version, name = '', newKeys, state } = await body();
      if ((version === undefined) === (name === ''))
        throw refused('A rewind', 'given `version` or `name`', 'both or none');
      await desk.rewind(run, version ?? { name }, present({ newKeys, state: state as Doc | undefined }));
      return new Response(null, { status: 204 });
    },
  }),

  route({
    ...{ method: 'POST', path: '/api/runs/{run}/fork', may: OPERATE, name: 'forkRun', params: ofRun },
    summary: 'Begins a new run at a checkpoint, perhaps with another state or other results',
    body: {
      schema: named(
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
    answers: { 201: { description: 'The new run', schema: Forked, headers: LOCATION } },
    problems: [404, 409, 410],
    async handle({ desk, params: { run }, body }) {
      const { version, name, ...rest } = await body();
      if (version !== undefined && name !== undefined) throw refused('A fork', 'given `version` or `name`', 'both');
      const forked = await desk.fork(run, present({ version, name, ...rest }) as ForkInput);
      return { status: 201, json: { run: forked }, headers: locationOf(forked) };
    },
  }),
];
