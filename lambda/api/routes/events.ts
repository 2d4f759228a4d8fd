import * as z from 'zod';
import { VIEW_ROLES } from '../../http/roles.ts';
import { eventStream } from '../event-stream.ts';
import { type Route, route } from '../route.ts';
import { RunEvents } from '../schemas/events.ts';
import { runParams } from '../schemas/values.ts';

const Cursor = z.string().max(100);

/** The route that follows a run. */
export const EVENT_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/runs/{run}/events',
    access: VIEW_ROLES,
    name: 'listRunEvents',
    params: runParams,
    summary: 'Follow a run: its checkpoints, the events that the agent emitted, and the output of running steps',
    description:
      'Returns a page of JSON, or server-sent events with `Accept: text/event-stream`: messages `event`, `checkpoint`, `output`, `status` and `end`. A reader that connects again with the last id misses nothing but output. On AWS, a stream ends after the events so far, and an EventSource connects again after two seconds.',
    query: z.strictObject({
      after: Cursor.optional().describe('A cursor, or the id of an event. Default: from the beginning'),
      limit: z.int().min(1).max(100).optional().describe('How many checkpoints a page has at most'),
      output: z.boolean().optional().describe('Whether to include the output of running steps'),
    }),
    headers: z.strictObject({ 'last-event-id': Cursor.optional() }),
    responses: { 200: { description: 'A page of events', schema: RunEvents, types: ['text/event-stream'] } },
    problems: [404, 410],
    async handle({ operator, api, context, params: { run }, query: { after, limit, output }, headers }) {
      const load = (from: string | undefined) => operator.events(run, { after: from, limit, includeOutput: output });
      const page = await load(headers['last-event-id'] ?? after);
      const { req } = context;
      if (!req.header('accept')?.includes('text/event-stream')) return { status: 200, json: page };
      return eventStream(page, { load, pollMs: api.eventPollMs, signal: req.raw.signal });
    },
  }),
];
