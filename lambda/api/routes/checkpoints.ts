import * as z from 'zod';
import type { CheckpointSelector, Doc } from '../../checkpoints/engine.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { DEFAULT_DOCUMENT_BYTES, MAX_DOCUMENT_BYTES } from '../../http/limits.ts';
import { HttpError } from '../../http/problem.ts';
import { VIEW_ROLES } from '../../http/roles.ts';
import { truncateDocument } from '../../operator/truncated-document.ts';
import { DOWNLOAD_RESPONSES, downloadPayload } from '../download.ts';
import { diffResponse } from '../responses.ts';
import { type Route, route } from '../route.ts';
import { Checkpoint, CheckpointsPage, Difference } from '../schemas/checkpoints.ts';
import { Name, PayloadId, runParams, Version } from '../schemas/values.ts';

const WhichText = z.string().min(1).max(300).describe('A version, `latest`, or `name:` and the name of a checkpoint');

const ofCheckpoint = runParams.extend({ version: WhichText });

/** Checkpoints: list, open, compare, and the payloads that they point at. */
export const CHECKPOINT_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/runs/{run}/checkpoints',
    access: VIEW_ROLES,
    name: 'listCheckpoints',
    params: runParams,
    summary: 'The checkpoints of a run without their content',
    query: z.strictObject({
      from: Version.optional(),
      to: Version.optional(),
      newestFirst: z.boolean().optional(),
      limit: z.int().min(1).max(1000).optional(),
    }),
    responses: { 200: { description: 'A page', schema: CheckpointsPage } },
    problems: [404, 410],
    handle: async ({ operator, params: { run }, query }) => ({
      status: 200,
      json: await operator.history(run, omitUndefined(query)),
    }),
  }),

  route({
    method: 'GET',
    path: '/api/runs/{run}/checkpoints/{version}',
    access: VIEW_ROLES,
    name: 'getCheckpoint',
    summary: 'A checkpoint with its state, results and model parameters',
    description:
      'What is large is shortened: a part of it is found by its path, a JSON pointer such as /state/messages, and the rest of a long list, object or text with `from`.',
    params: ofCheckpoint,
    query: z.strictObject({
      path: z.string().max(4000).optional().describe('A JSON pointer into the content'),
      from: z.int().min(0).optional().describe('The first element, key or character that is shown'),
      bytes: z.int().min(1000).max(MAX_DOCUMENT_BYTES).optional().describe('About how many bytes of content to answer'),
    }),
    headers: z.strictObject({ 'if-none-match': z.string().max(1000).optional() }),
    responses: {
      200: { description: 'The checkpoint', schema: Checkpoint, headers: { etag: 'Its version' } },
      304: { description: 'It is still the version that was named in If-None-Match' },
    },
    problems: [404, 410],
    async handle({ operator, params: { run, version }, query, headers }) {
      const { state, toolResults, model, ...summary } = await operator.checkpoint(run, whichOf(version));
      const etag = `"${summary.version}"`;
      if (namesTag(headers['if-none-match'], etag)) return new Response(null, { status: 304, headers: { etag } });
      const { path = '', from, bytes = DEFAULT_DOCUMENT_BYTES } = query;
      const content: Doc = { state, toolResults, ...omitUndefined({ model }) };
      const piece = truncateDocument(content, path, bytes, omitUndefined({ from }));
      if (!piece)
        throw new HttpError(
          404,
          'PART_NOT_FOUND',
          `Checkpoint ${summary.version} of this run has nothing at this path.`,
        );
      return { status: 200, json: { ...summary, content: piece.value, isWhole: piece.isWhole }, headers: { etag } };
    },
  }),

  route({
    method: 'GET',
    path: '/api/runs/{run}/checkpoints/{version}/payloads/{payload}',
    access: VIEW_ROLES,
    name: 'getPayload',
    summary: 'A payload that a checkpoint points at',
    params: ofCheckpoint.extend({ payload: PayloadId }),
    responses: DOWNLOAD_RESPONSES,
    problems: [404, 410, 413],
    async handle(request) {
      const { run, version, payload } = request.params;
      return downloadPayload(request, { run, from: { version: whichOf(version) }, id: payload });
    },
  }),

  route({
    method: 'GET',
    path: '/api/runs/{run}/diff',
    access: VIEW_ROLES,
    name: 'diffCheckpoints',
    params: runParams,
    summary: 'What changed in the state from one checkpoint to another',
    query: z.strictObject({ before: WhichText, after: WhichText }),
    responses: { 200: { description: 'The difference', schema: Difference } },
    problems: [404, 410],
    async handle({ operator, params: { run }, query: { before, after } }) {
      const difference = await operator.diff(run, whichOf(before), whichOf(after));
      return { status: 200, json: diffResponse(difference) };
    },
  }),
];

/** Which checkpoint a path or a query names; undefined is the newest. */
function whichOf(text: string): CheckpointSelector | undefined {
  if (text === 'latest') return undefined;
  const name = Name.safeParse(text.startsWith('name:') ? text.slice(5) : '');
  if (name.success) return { name: name.data };
  const version = Version.safeParse(/^\d{1,12}$/.test(text) ? Number(text) : undefined);
  if (version.success) return version.data;
  throw invalidInput('A version', 'a number, `latest`, or `name:` and a name', text);
}

/** Whether a header of tags has this one. */
const namesTag = (header: string | undefined, tag: string): boolean =>
  header?.split(',').some((each) => each.trim().replace(/^W\//, '') === tag) === true;
