import * as z from 'zod';
import type { NotificationKind } from '../../core/approval.ts';
import { namedSchema } from './named.ts';
import { Document, StatusName, Timestamp } from './values.ts';

export const Lease = namedSchema(
  'Lease',
  z.strictObject({
    id: z.string().describe('Renew and release the lease with this id'),
    until: Timestamp.describe('When another worker can claim the run, unless the lease is renewed'),
  }),
);

const waitName = z.string().describe('The name that the request to wait had');

const SavedCheckpoint = z
  .object({
    version: z.int(),
    status: StatusName,
    state: Document.optional().describe('null before the first save of a state'),
    toolResults: z.record(z.string(), Document).optional().describe('The recorded results, by call id'),
    step: z.string().optional(),
    stepNumber: z.int().optional(),
    name: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    model: z.record(z.string(), Document).optional().describe('The parameters of the model'),
    savedAt: Timestamp.optional(),
  })
  .describe('The newest checkpoint. With `contentUrl`, it has only the version and the status');

const Decided = z.object({
  name: waitName,
  approval: z.string().describe('The id of the approval'),
  approved: z.boolean().optional().describe('Absent for a question'),
  answered: z.boolean().optional().describe('For a question: whether there is an answer'),
  answer: Document.optional(),
  status: z.string().describe('APPROVED (also if a question was answered), REJECTED, EXPIRED or WITHDRAWN'),
  by: z.array(z.string()).describe('The people who decided'),
  delegated: z.array(z.object({ by: z.string(), for: z.string() })).optional(),
  at: Timestamp,
  requestCount: z.int(),
  contentHash: z.string().optional(),
  comment: z.string().optional(),
  edits: Document.optional(),
  fails: z.literal(true).optional().describe('The run should fail (`onTimeout: "fail"`)'),
});

/** The content of a run, as an agent in another language gets it. */
const content = {
  checkpoint: SavedCheckpoint,
  input: Document.optional(),
  requestedBy: z.string().optional().describe('The person who requested the run'),
  approvals: z.array(Decided).optional().describe('Approvals that have ended, in the order of their requests'),
  signals: z
    .array(z.object({ name: waitName, value: Document.optional(), timedOut: z.literal(true).optional() }))
    .optional()
    .describe('Signals that the run waited for: received, or timed out'),
  sleeps: z
    .array(z.object({ name: waitName }))
    .optional()
    .describe('Sleeps that are over'),
  calls: z
    .array(
      z.object({
        name: waitName,
        run: z.string().describe('The child run'),
        status: z.enum(['SUCCEEDED', 'FAILED']),
        result: Document.optional(),
        error: z.object({ name: z.string(), message: z.string(), code: z.string().optional() }).optional(),
      }),
    )
    .optional()
    .describe('Child runs that have ended'),
  waiting: z
    .array(z.string())
    .optional()
    .describe('The ids of pending approvals, and the names of signals, sleeps and calls that the run waits for'),
  contentUrl: z.string().optional().describe('A URL of all other fields, if they are too large to send'),
};

const identity = {
  waitstate: z.literal(1).describe('The version of the protocol'),
  tenant: z.string(),
  run: z.string(),
  agent: z.string(),
};

export const Claimed = namedSchema(
  'Claimed',
  z
    .object({ ...identity, lease: Lease, ...content })
    .describe('A claimed run with everything that is needed to resume it'),
);

export const Loaded = namedSchema(
  'Loaded',
  z.object({ run: z.string(), ...content }).describe('Everything that an agent needs to resume'),
);

namedSchema(
  'Invocation',
  z
    .object({
      ...identity,
      ...content,
      lease: Lease.optional().describe('Only for workers'),
      deadline: Timestamp.optional().describe('When the process is stopped; only on the local server'),
    })
    .describe('A run to resume'),
);

namedSchema(
  'NotifyRequest',
  z
    .object({
      ...identity,
      notify: z.object({
        kind: z.enum(['requested', 'proposed', 'reminder', 'escalated'] satisfies NotificationKind[]),
        tenant: z.string(),
        run: z.string(),
        agent: z.string().optional(),
        approval: z.string(),
        name: z.string(),
        title: z.string(),
        isEncrypted: z.boolean(),
        isQuestion: z.literal(true).optional(),
        requestedAt: Timestamp,
        deadline: Timestamp.optional(),
        approvers: z.array(z.string()),
        links: z.array(z.object({ person: z.string(), for: z.string().optional(), url: z.string() })),
      }),
    })
    .describe('A request to notify approvers'),
);

namedSchema(
  'DescribeRequest',
  z
    .object({ waitstate: z.literal(1), describe: z.literal(true) })
    .describe('A question of the local server to a command: which agents does it run? It prints a `Description`'),
);

namedSchema(
  'Description',
  z
    .object({
      waitstate: z.literal(1),
      agents: z.array(
        z.object({
          name: z.string().min(1).max(256),
          description: z.string().optional(),
          example: Document.optional().describe('The input that the console suggests'),
          notifies: z.boolean().optional().describe('Whether the command notifies approvers'),
        }),
      ),
    })
    .describe('The agents of a command, which it prints as one line of JSON'),
);
