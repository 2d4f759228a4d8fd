import * as z from 'zod';
import type { Relative } from '../../operator/lineage.ts';
import { named } from './named.ts';
import { CheckpointId, Document, Moment, Name, StatusName, Texts } from './values.ts';

const summary = {
  run: z.string(),
  status: StatusName,
  agent: z.string().optional(),
  owner: z.string().optional(),
  tags: Texts,
  statusChange: z
    .strictObject({ version: z.int(), step: z.string().optional(), stepNumber: z.int() })
    .describe('Where the run was when its status last changed'),
  createdAt: Moment,
  touchedAt: Moment,
  parent: CheckpointId.optional(),
  retentionSeconds: z.number().optional(),
  encrypted: z.boolean(),
  shredded: z.boolean(),
};

const RunSummary = named('RunSummary', z.strictObject(summary));

export const RunsPage = named(
  'RunsPage',
  z.strictObject({ runs: z.array(RunSummary), cursor: z.string().optional().describe('For the next page') }),
);

const Count = named(
  'Count',
  z.strictObject({ count: z.int(), isMore: z.boolean().describe('Whether there are more than were counted') }),
);

export const Counts = named('Counts', z.record(StatusName, Count));

const Wait = named(
  'Wait',
  z.strictObject({
    kind: z.enum(['approval', 'signal', 'sleep', 'call', 'retry']),
    name: z.string(),
    until: Moment.optional(),
  }),
);

export const Run = named(
  'Run',
  z.strictObject({
    ...summary,
    version: z.int(),
    step: z.string().optional(),
    stepNumber: z.int(),
    isDurable: z.boolean().describe('Whether the runtime runs it; otherwise a program of its own saves checkpoints'),
    lease: z.strictObject({ by: z.string(), until: Moment }).optional(),
    dueAt: Moment.optional(),
    deadline: Moment.optional(),
    deliveries: z.int(),
    parked: z.string().optional().describe('Why it cannot go on with the code that is deployed'),
    openApprovals: Texts,
    waits: z.array(Wait),
    input: Document.optional(),
    result: Document.optional(),
    error: z
      .strictObject({
        name: z.string(),
        message: z.string(),
        stack: z.string().optional().describe('Where it came up'),
        failedAt: Texts,
        notUndone: Texts,
      })
      .optional(),
  }),
);

export const Started = named(
  'Started',
  z.strictObject({
    run: z.string(),
    status: StatusName.optional().describe('Absent for those who may not look at runs'),
    isNew: z.boolean().describe('False when there was such a run already'),
  }),
);

export const Forked = named('Forked', z.strictObject({ run: z.string() }));
export const Cancelled = named('Cancelled', z.strictObject({ run: z.string(), status: StatusName }));
export const Signalled = named('Signalled', z.strictObject({ run: z.string(), isNew: z.boolean() }));

const RelativeSchema: z.ZodType<Relative> = named(
  'Relative',
  z.strictObject({
    run: z.string(),
    status: StatusName.optional().describe('Absent when the run is gone'),
    fromVersion: z.int().optional().describe('The version of its parent that it began with'),
    get forks() {
      return z.array(RelativeSchema);
    },
  }) as unknown as z.ZodType<Relative>,
);

export const Lineage = named('Lineage', z.strictObject({ root: RelativeSchema, isMore: z.boolean() }));

export const Agents = named(
  'Agents',
  z.strictObject({
    agents: z.array(
      z.strictObject({ name: Name, example: z.unknown().optional(), description: z.string().optional() }),
    ),
  }),
);
