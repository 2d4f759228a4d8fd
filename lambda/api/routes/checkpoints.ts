import * as z from 'zod';
import type { CheckpointSelector, Doc } from '../../checkpoints/engine.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { DEFAULT_DOCUMENT_BYTES, MAX_DOCUMENT_BYTES } from '../../http/limits.ts';
import { HttpError } from '../../http/problem.ts';
import { VIEW_ROLES } from '../../http/roles.ts';
import { truncateDocument } from '../../operator/truncated-document.ts';
import { DOWNLOAD_RESPONSES, downloadPayload } from '../download.ts';
import { diffResponse, timelineResponse } from '../responses.ts';
import { type Route, route } from '../route.ts';
import { Checkpoint, CheckpointsPage, Difference, TimelinePage } from '../schemas/checkpoints.ts';
import { Name, PayloadId, runParams, Version } from '../schemas/values.ts';

const Selector = z
  .string()
  .min(1)
  .max(300)
  .describe('A version, `latest`, or `name:` followed by the name of a checkpoint');

const checkpointParams = runParams.extend({ version: Selector });

/** Routes that list, load and compare checkpoints, and download their payloads. */
export const CHECKPOINT_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/runs/{run}/checkpoints',
    access: VIEW_ROLES,
    name: 'listCheckpoints',
    params: runParams,
    summary: 'List the checkpoints of a run, without their content',
    query: z.strictObject({
      from: Version.optional(),
      to: Version.optional(),
      newestFirst: z.boolean().optional(),
      limit: z.int().min(1).max(1000).optional(),
    }),
    responses: { 200: { description: 'A page of checkpoints', schema: CheckpointsPage } },
    problems: [404, 410],
    handle: async ({ operator, params: { run }, query }) => ({
      status: 200,
      json: await operator.history(run, omitUndefined(query)),
    }),
  }),

  route({
    method: 'GET',
    path: '/api/runs/{run}/timeline',
    access: VIEW_ROLES,
    name: 'getTimeline',
    params: runParams,
    summary: 'Get what a run did and when, newest part first, and its total times',
    query: z.strictObject({
      to: Version.optional().describe('The newest version'),
      limit: z.int().min(1).max(1000).optional().describe('The most checkpoints; 50 by default'),
      find: z
        .string()
        .max(200)
        .optional()
        .describe('Only spans with this text: a step, a status, or a word such as `crash` or `failed`'),
    }),
    responses: { 200: { description: 'A part of the timeline', schema: TimelinePage } },
    problems: [404, 410],
    handle: async ({ operator, params: { run }, query }) => ({
      status: 200,
      json: timelineResponse(await operator.timeline(run, omitUndefined(query))),
    }),
  }),

  route({
    method: 'GET',
    path: '/api/runs/{run}/checkpoints/{version}',
    access: VIEW_ROLES,
    name: 'getCheckpoint',
    summary: 'Get a checkpoint with its state, tool results and model parameters',
    description:
      'Large content is truncated. Request a part with `path`, a JSON pointer such as /state/messages, and the rest of a long list, object or text with `from`.',
    params: checkpointParams,
    query: z.strictObject({
      path: z.string().max(4000).optional().describe('A JSON pointer into the content'),
      from: z.int().min(0).optional().describe('The index of the first element, key or character to return'),
      bytes: z
        .int()
        .min(1000)
        .max(MAX_DOCUMENT_BYTES)
        .optional()
        .describe('The approximate number of bytes of content to return'),
    }),
    headers: z.strictObject({ 'if-none-match': z.string().max(1000).optional() }),
    responses: {
      200: { description: 'The checkpoint', schema: Checkpoint, headers: { etag: 'The version, in quotes' } },
      304: { description: 'The version is the one in If-None-Match' },
    },
    problems: [404, 410],
    async handle({ operator, params: { run, version }, query, headers }) {
      const { state, toolResults, model, ...summary } = await operator.checkpoint(run, parseSelector(version));
      const etag = `"${summary.version}"`;
      if (hasEtag(headers['if-none-match'], etag)) return new Response(null, { status: 304, headers: { etag } });
      const { path = '', from, bytes = DEFAULT_DOCUMENT_BYTES } = query;
      const content: Doc = { state, toolResults, ...omitUndefined({ model }) };
      const truncated = truncateDocument(content, path, bytes, omitUndefined({ from }));
      if (!truncated)
        throw new HttpError(
          404,
          'PART_NOT_FOUND',
          `Checkpoint ${summary.version} has no value at this path. Check the JSON pointer.`,
        );
      return {
        status: 200,
        json: { ...summary, content: truncated.value, isComplete: truncated.isComplete },
        headers: { etag },
      };
    },
  }),

  route({
    method: 'GET',
    path: '/api/runs/{run}/checkpoints/{version}/payloads/{payload}',
    access: VIEW_ROLES,
    name: 'getPayload',
    summary: 'Download a payload of a checkpoint',
    params: checkpointParams.extend({ payload: PayloadId }),
    responses: DOWNLOAD_RESPONSES,
    problems: [404, 410, 413],
    async handle(request) {
      const { run, version, payload } = request.params;
      return downloadPayload(request, { run, from: { version: parseSelector(version) }, id: payload });
    },
  }),

  route({
    method: 'GET',
    path: '/api/runs/{run}/diff',
    access: VIEW_ROLES,
    name: 'diffCheckpoints',
    params: runParams,
    summary: 'Compare the state of two checkpoints',
    query: z.strictObject({ before: Selector, after: Selector }),
    responses: { 200: { description: 'The diff', schema: Difference } },
    problems: [404, 410],
    async handle({ operator, params: { run }, query: { before, after } }) {
      const diff = await operator.diff(run, parseSelector(before), parseSelector(after));
      return { status: 200, json: diffResponse(diff) };
    },
  }),
];

/** Parses a checkpoint selector; undefined is the newest checkpoint. */
function parseSelector(text: string): CheckpointSelector | undefined {
  if (text === 'latest') return undefined;
  const name = Name.safeParse(text.startsWith('name:') ? text.slice(5) : '');
  if (name.success) return { name: name.data };
  const version = Version.safeParse(/^\d{1,12}$/.test(text) ? Number(text) : undefined);
  if (version.success) return version.data;
  throw invalidInput('A version', 'a number, `latest`, or `name:` followed by a name', text);
}

/** Whether an `If-None-Match` header contains the ETag. */
const hasEtag = (header: string | undefined, tag: string): boolean =>
  header?.split(',').some((each) => each.trim().replace(/^W\//, '') === tag) === true;
