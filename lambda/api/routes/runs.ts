import * as z from 'zod';
import type { Doc } from '../../checkpoints/engine.ts';
import { isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { agentsForTenant, checkAgent, knownAgentNames } from '../../http/check-agent.ts';
import { hasRole, requesterOf, START_ROLES, VIEW_ROLES } from '../../http/roles.ts';
import type { StartedRun } from '../../runtime/control/start-run.ts';
import { runResponse } from '../responses.ts';
import { type Route, route } from '../route.ts';
import { namedSchema } from '../schemas/named.ts';
import { Agents, Counts, Lineage, Run, RunsPage, Started } from '../schemas/runs.ts';
import {
  Cursor,
  Document,
  Duration,
  Name,
  Person,
  RunId,
  runParams,
  StatusName,
  Tags,
  Timestamp,
} from '../schemas/values.ts';
import { LOCATION_DESCRIPTION, locationHeader } from './location.ts';

/** Routes that start, list and read runs. */
export const RUN_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/runs',
    access: START_ROLES,
    name: 'startRun',
    summary: 'Start a run. A repeated id or Idempotency-Key starts it once',
    headers: z.strictObject({
      'idempotency-key': z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('Starts one run for equal requests of one caller. Another request with the same key gets 422'),
    }),
    body: {
      schema: namedSchema(
        'Start',
        z.strictObject({
          agent: Name,
          input: Document.optional(),
          id: RunId.optional(),
          owner: Name.optional(),
          requestedBy: Person.optional().describe(
            'The person who requests the run, for callers who may start runs for others. Default: the caller',
          ),
          tags: Tags.optional(),
          retention: Duration.optional(),
          timeout: Duration.optional(),
        }),
      ),
    },
    responses: {
      201: { description: 'Started', schema: Started, headers: LOCATION_DESCRIPTION },
      200: { description: 'Started before', schema: Started, headers: LOCATION_DESCRIPTION },
    },
    problems: [404, 409, 410, 422],
    async handle({ operator, api, caller, headers, body }) {
      const { agent, input, id, owner, requestedBy, tags, retention, timeout } = await body();
      await checkAgent(api, caller.tenant, agent);
      const key = headers['idempotency-key'];
      const starting = operator.start({
        agent,
        ...omitUndefined({ id, key, owner, tags, requestedBy: requesterOf(caller, requestedBy) }),
        ...(retention && { retention: omitUndefined(retention) }),
        ...(timeout && { timeout: omitUndefined(timeout) }),
        ...(input !== undefined && { input: input as Doc }),
      });
      const started = await (hasRole(caller, VIEW_ROLES) ? starting : withoutStatus(starting));
      return { status: started.isNew ? 201 : 200, json: started, headers: locationHeader(started.run) };
    },
  }),

  route({
    method: 'GET',
    path: '/api/runs',
    access: VIEW_ROLES,
    name: 'listRuns',
    summary: 'List runs, most recently changed first',
    description:
      'A page can have fewer runs than `limit`; only a missing cursor means the end. The list is eventually consistent.',
    query: z.strictObject({
      status: z.array(StatusName).max(20).optional(),
      agent: Name.optional(),
      owner: Name.optional(),
      tag: Name.optional(),
      step: z
        .string()
        .min(1)
        .max(1000)
        .optional()
        .describe(
          'The step at which the status last changed; for a failed run, the step that failed: its name (`book`), or its id (`trips[1]/book`)',
        ),
      stepNumber: z.int().min(0).optional().describe('The number of that step, instead of its name'),
      id: z.string().min(1).max(256).optional().describe('Only runs whose id contains this text'),
      since: Timestamp.optional().describe('Changed at or after this time'),
      until: Timestamp.optional().describe('Changed before this time'),
      limit: z.int().min(1).max(100).optional(),
      cursor: Cursor.optional(),
    }),
    responses: { 200: { description: 'A page of runs', schema: RunsPage } },
    async handle({ operator, query }) {
      const { status, stepNumber, since, until, step, ...rest } = query;
      if (step !== undefined && stepNumber !== undefined)
        throw invalidInput('A query', 'sent with `step` or `stepNumber`', 'both');
      const filter = { step: step ?? stepNumber, since: toDate(since), until: toDate(until) };
      const page = await operator.runs({
        ...omitUndefined(rest),
        ...omitUndefined(filter),
        ...(status && status.length > 0 && { status }),
      });
      return { status: 200, json: page };
    },
  }),

  route({
    method: 'GET',
    path: '/api/counts',
    access: VIEW_ROLES,
    name: 'countRuns',
    summary: 'Count the runs of each status, up to 1,000 each',
    responses: { 200: { description: 'The counts by status', schema: Counts } },
    handle: async ({ operator }) => ({ status: 200, json: await operator.counts() }),
  }),

  route({
    method: 'GET',
    path: '/api/agents',
    access: VIEW_ROLES,
    name: 'listAgents',
    summary: 'List the known agents',
    responses: { 200: { description: 'The agents', schema: Agents } },
    handle: async ({ api, caller }) => ({
      status: 200,
      json: {
        agents: agentsForTenant((await api.agents?.()) ?? [], caller.tenant),
        ...(api.startsAnyAgent?.() && { startsAnyAgent: true }),
      },
    }),
  }),

  route({
    method: 'GET',
    path: '/api/runs/{run}',
    access: VIEW_ROLES,
    name: 'getRun',
    params: runParams,
    summary: 'Get a run: its metadata, what it waits for, its result or error',
    responses: { 200: { description: 'The run', schema: Run, headers: { etag: 'The version, in quotes' } } },
    problems: [404, 410],
    async handle({ operator, api, caller, params: { run } }) {
      const view = await operator.run(run);
      return {
        status: 200,
        json: runResponse(view, await knownAgentNames(api, caller.tenant)),
        headers: { etag: `"${view.version}"` },
      };
    },
  }),

  route({
    method: 'GET',
    path: '/api/runs/{run}/lineage',
    access: VIEW_ROLES,
    name: 'getLineage',
    params: runParams,
    summary: 'Get the tree of forks that a run belongs to',
    responses: { 200: { description: 'The tree of forks', schema: Lineage } },
    problems: [404, 410],
    handle: async ({ operator, params: { run } }) => ({ status: 200, json: await operator.lineage(run) }),
  }),
];

/** The response for callers who cannot read runs: whether the id was new, but nothing about an existing run. */
async function withoutStatus(starting: Promise<StartedRun>): Promise<Omit<StartedRun, 'status'>> {
  try {
    const { run, isNew } = await starting;
    return { run, isNew };
  } catch (error) {
    if (!isWaitstateError(error, 'RUN_EXISTS', 'RUN_DELETED', 'RUN_EXPIRED', 'RUN_SHREDDED')) throw error;
    throw new WaitstateError('RUN_EXISTS', 'A run with this id exists or has existed. Use another id.');
  }
}

const toDate = (text: string | undefined): Date | undefined => (text === undefined ? undefined : new Date(text));
