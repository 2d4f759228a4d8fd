import * as z from 'zod';
import type { LineageNode } from '../../operator/lineage.ts';
import { namedSchema } from './named.ts';
import { CheckpointId, Document, Duration, Name, StatusName, StringList, Timestamp } from './values.ts';

const summary = {
  run: z.string(),
  status: StatusName,
  agent: z.string().optional(),
  owner: z.string().optional(),
  requestedBy: z.string().optional().describe('The person who requested the run'),
  tags: StringList,
  statusChange: z
    .strictObject({ version: z.int(), step: z.string().optional(), stepNumber: z.int() })
    .describe('The checkpoint at which the status last changed'),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  parent: CheckpointId.optional().describe('Where the run was forked, or which run started it'),
  forked: z.boolean().describe('Whether it is a fork of `parent`'),
  waitsFor: z
    .string()
    .optional()
    .describe('What a suspended run waits for, by kind and name: `signal seat, call billing`'),
  outcome: z
    .strictObject({
      text: z.string().optional().describe('The result, error or reason in a line; absent if the run is encrypted'),
      code: z.string().optional().describe('The code of the error'),
      decision: z.array(z.string()).optional().describe('The status of the last approval, and who decided it'),
    })
    .optional()
    .describe('The outcome of a run that has ended'),
  parkedReason: z.string().optional().describe('Why it cannot resume with the deployed code'),
  retention: Duration.optional(),
  encrypted: z.boolean(),
  shredded: z.boolean(),
};

const RunSummary = namedSchema('RunSummary', z.strictObject(summary));

export const RunsPage = namedSchema(
  'RunsPage',
  z.strictObject({ runs: z.array(RunSummary), cursor: z.string().optional().describe('Pass it to get the next page') }),
);

const Count = namedSchema(
  'Count',
  z.strictObject({ count: z.int(), hasMore: z.boolean().describe('Whether counting stopped before the end') }),
);

export const Counts = namedSchema('Counts', z.record(StatusName, Count));

const Wait = namedSchema(
  'Wait',
  z.strictObject({
    kind: z.enum(['approval', 'signal', 'sleep', 'call', 'retry']),
    name: z.string(),
    until: Timestamp.optional(),
    lastFailure: z.string().optional().describe('Why the last attempt of the step failed'),
    failures: z.int().optional().describe('How many attempts have failed'),
  }),
);

const ChildRun = namedSchema(
  'ChildRun',
  z.strictObject({
    name: z.string().describe('The operation that called it'),
    run: z.string(),
    status: z.enum(['waiting', 'succeeded', 'failed']),
  }),
);

export const Run = namedSchema(
  'Run',
  z.strictObject({
    ...summary,
    version: z.int(),
    step: z.string().optional(),
    stepNumber: z.int(),
    isDurable: z.boolean().describe('Whether the runtime executes it; otherwise another program saves its checkpoints'),
    lease: z.strictObject({ by: z.string(), until: Timestamp }).optional(),
    dueAt: Timestamp.optional(),
    deadline: Timestamp.optional(),
    deliveries: z.int(),
    isPaused: z.boolean().describe('Whether it is READY and its agent is paused'),
    ready: z
      .strictObject({
        reason: z.enum(['parked', 'paused', 'unknown agent', 'not claimed', 'queued']),
        since: Timestamp,
        text: z.string(),
      })
      .optional()
      .describe('Why a READY run is not running, and since when it could'),
    pendingApprovals: StringList,
    waits: z.array(Wait),
    children: z.array(ChildRun).describe('The runs that it called, without those of earlier turns'),
    input: Document.optional(),
    result: Document.optional(),
    error: z
      .strictObject({
        name: z.string(),
        message: z.string(),
        code: z.string().optional().describe('The code of the error, if it has one'),
        reason: z.string().optional().describe('Why the run was cancelled'),
        stack: z.string().optional().describe('The stack trace'),
        causes: z
          .array(z.strictObject({ name: z.string(), message: z.string(), code: z.string().optional() }))
          .describe('The errors that caused it, the nearest first'),
        failedOperations: StringList,
        notUndone: StringList,
      })
      .optional(),
  }),
);

export const Started = namedSchema(
  'Started',
  z.strictObject({
    run: z.string(),
    status: StatusName.optional().describe('Absent for callers who cannot read runs'),
    isNew: z.boolean().describe('False if the run was started before'),
  }),
);

export const Forked = namedSchema('Forked', z.strictObject({ run: z.string() }));
export const RestartPreview = namedSchema(
  'RestartPreview',
  z.strictObject({
    version: z.int(),
    steps: z
      .array(
        z.strictObject({
          id: z.string(),
          kind: z.enum(['step', 'tool', 'call']).optional().describe('Absent if it is no longer known'),
          failed: z.boolean(),
          canBeUndone: z.boolean().describe('Whether the agent says how to undo it; nothing is undone by this'),
          undone: z.boolean(),
        }),
      )
      .describe('The steps that run again, in the order in which they completed'),
    hasMore: z.boolean(),
    stateChanges: z
      .enum(['everything', 'later code', 'nothing'])
      .describe('What another state changes: an agent that replays its results reads it only after the checkpoint'),
    replaceableResults: z.array(z.string()).describe('The results that a fork can replace with `toolResults`'),
  }),
);
export const Rewound = namedSchema(
  'Rewound',
  z.strictObject({ run: z.string(), version: z.int().describe('The version of the rewind'), status: StatusName }),
);
export const Cancelled = namedSchema('Cancelled', z.strictObject({ run: z.string(), status: StatusName }));
export const Signalled = namedSchema('Signalled', z.strictObject({ run: z.string(), isNew: z.boolean() }));

const LineageNodeSchema: z.ZodType<LineageNode> = namedSchema(
  'LineageNode',
  z.strictObject({
    run: z.string(),
    status: StatusName.optional().describe('Absent if the run was deleted'),
    fromVersion: z.int().optional().describe('The version of its parent that it was forked from'),
    get forks() {
      return z.array(LineageNodeSchema);
    },
  }) as unknown as z.ZodType<LineageNode>,
);

export const Lineage = namedSchema('Lineage', z.strictObject({ root: LineageNodeSchema, hasMore: z.boolean() }));

export const Agents = namedSchema(
  'Agents',
  z.strictObject({
    agents: z.array(
      z.strictObject({ name: Name, example: z.unknown().optional(), description: z.string().optional() }),
    ),
    startsAnyAgent: z.literal(true).optional().describe('Other agents run here too, for example by a command'),
  }),
);
