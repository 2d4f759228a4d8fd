import * as z from 'zod';
import type { LineageNode } from '../../operator/lineage.ts';
import { namedSchema } from './named.ts';
import { CheckpointId, Document, Name, StatusName, StringList, Timestamp } from './values.ts';

const summary = {
  run: z.string(),
  status: StatusName,
  agent: z.string().optional(),
  owner: z.string().optional(),
  tags: StringList,
  statusChange: z
    .strictObject({ version: z.int(), step: z.string().optional(), stepNumber: z.int() })
    .describe('Where the run was when its status last changed'),
  createdAt: Timestamp,
  touchedAt: Timestamp,
  parent: CheckpointId.optional(),
  retentionSeconds: z.number().optional(),
  encrypted: z.boolean(),
  shredded: z.boolean(),
};

const RunSummary = namedSchema('RunSummary', z.strictObject(summary));

export const RunsPage = namedSchema(
  'RunsPage',
  z.strictObject({ runs: z.array(RunSummary), cursor: z.string().optional().describe('For the next page') }),
);

const Count = namedSchema(
  'Count',
  z.strictObject({ count: z.int(), isMore: z.boolean().describe('Whether there are more than were counted') }),
);

export const Counts = namedSchema('Counts', z.record(StatusName, Count));

const Wait = namedSchema(
  'Wait',
  z.strictObject({
    kind: z.enum(['approval', 'signal', 'sleep', 'call', 'retry']),
    name: z.string(),
    until: Timestamp.optional(),
  }),
);

export const Run = namedSchema(
  'Run',
  z.strictObject({
    ...summary,
    version: z.int(),
    step: z.string().optional(),
    stepNumber: z.int(),
    isDurable: z.boolean().describe('Whether the runtime runs it; otherwise a program of its own saves checkpoints'),
    lease: z.strictObject({ by: z.string(), until: Timestamp }).optional(),
    dueAt: Timestamp.optional(),
    deadline: Timestamp.optional(),
    deliveries: z.int(),
    parked: z.string().optional().describe('Why it cannot go on with the code that is deployed'),
    openApprovals: StringList,
    waits: z.array(Wait),
    input: Document.optional(),
    result: Document.optional(),
    error: z
      .strictObject({
        name: z.string(),
        message: z.string(),
        stack: z.string().optional().describe('Where it came up'),
        failedAt: StringList,
        notUndone: StringList,
      })
      .optional(),
  }),
);

export const Started = namedSchema(
  'Started',
  z.strictObject({
    run: z.string(),
    status: StatusName.optional().describe('Absent for those who may not look at runs'),
    isNew: z.boolean().describe('False when there was such a run already'),
  }),
);

export const Forked = namedSchema('Forked', z.strictObject({ run: z.string() }));
export const Cancelled = namedSchema('Cancelled', z.strictObject({ run: z.string(), status: StatusName }));
export const Signalled = namedSchema('Signalled', z.strictObject({ run: z.string(), isNew: z.boolean() }));

const RelativeSchema: z.ZodType<LineageNode> = namedSchema(
  'Relative',
  z.strictObject({
    run: z.string(),
    status: StatusName.optional().describe('Absent when the run is gone'),
    fromVersion: z.int().optional().describe('The version of its parent that it began with'),
    get forks() {
      return z.array(RelativeSchema);
    },
  }) as unknown as z.ZodType<LineageNode>,
);

export const Lineage = namedSchema('Lineage', z.strictObject({ root: RelativeSchema, isMore: z.boolean() }));

export const Agents = namedSchema(
  'Agents',
  z.strictObject({
    agents: z.array(
      z.strictObject({ name: Name, example: z.unknown().optional(), description: z.string().optional() }),
    ),
  }),
);
