import * as z from 'zod';
import { CheckpointSummary } from './checkpoints.ts';
import { namedSchema } from './named.ts';
import { Document, StatusName, Timestamp } from './values.ts';

const EventId = z.string().describe('Pass it as `after`, or as the header Last-Event-ID, to get what comes next');

const RunEvent = namedSchema(
  'RunEvent',
  z.discriminatedUnion('type', [
    z
      .strictObject({
        type: z.literal('event'),
        id: EventId,
        version: z.int().describe('The checkpoint that recorded it'),
        at: Timestamp,
        data: Document,
        step: z.string().optional().describe('The step that emitted it'),
        attempt: z.int().optional(),
      })
      .describe('An event that the agent emitted'),
    z
      .strictObject({ type: z.literal('checkpoint'), id: EventId, checkpoint: CheckpointSummary })
      .describe('A checkpoint; it follows the events that were recorded with it'),
    z
      .strictObject({
        type: z.literal('output'),
        step: z.string(),
        attempt: z.int(),
        number: z.int().describe('Counts from 0 in each attempt; a gap means that output is missing'),
        output: z.array(Document),
      })
      .describe('Output of a running step. Best effort: the checkpoint that records the step replaces it'),
  ]),
);

export const RunEvents = namedSchema(
  'RunEvents',
  z.strictObject({
    events: z.array(RunEvent),
    cursor: z.string().describe('Pass it as `after` to get what comes next'),
    status: StatusName.describe('The status of the run now'),
    hasMore: z.boolean().describe('Whether more events are stored; the status is then later than these events'),
    hasEnded: z.boolean().describe('Whether the run has ended and there are no more events'),
  }),
);
