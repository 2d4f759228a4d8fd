import * as z from 'zod';
import { namedSchema } from './named.ts';
import { CheckpointId, Document, StatusName, Timestamp } from './values.ts';

const summary = {
  run: z.string(),
  version: z.int(),
  kind: z.enum(['save', 'fork', 'rewind', 'undo', 'redo', 'prune', 'shred', 'delete', 'claim', 'cancel', 'retry']),
  status: StatusName,
  step: z.string().optional(),
  stepNumber: z.int(),
  name: z.string().optional(),
  labels: z.record(z.string(), z.string()),
  schema: z.union([z.number(), z.string()]).optional(),
  parent: CheckpointId.optional(),
  restored: z.int().optional(),
  savedAt: Timestamp,
  writer: z.string(),
  writeId: z.string(),
  hash: z.string(),
  previousHash: z.string().optional(),
  pruned: z.boolean(),
  bytes: z.int(),
};

const CheckpointSummary = namedSchema('CheckpointSummary', z.strictObject(summary));

export const CheckpointsPage = namedSchema(
  'CheckpointsPage',
  z.strictObject({
    checkpoints: z.array(CheckpointSummary),
    next: z.int().optional().describe('The version to go on with: as `from`, or newest first as `to`'),
  }),
);

const PayloadRef = namedSchema(
  'PayloadRef',
  z.strictObject({
    id: z.string(),
    sha256: z.string(),
    size: z.int(),
    type: z.string().optional(),
    digest: z.string().optional(),
  }),
);

export const Checkpoint = namedSchema(
  'Checkpoint',
  z.strictObject({
    ...summary,
    isDurable: z.boolean(),
    payloads: z.array(PayloadRef),
    content: Document.describe('`state`, `toolResults` and `model`, or the part of it that `path` names'),
    isWhole: z.boolean().describe('False when something was shortened: ask for it by its path'),
  }),
);

const Change = { path: z.string() };

export const Difference = namedSchema(
  'Difference',
  z.strictObject({
    added: z.array(z.strictObject({ ...Change, value: Document })),
    removed: z.array(z.strictObject({ ...Change, value: Document })),
    changed: z.array(z.strictObject({ ...Change, before: Document, after: Document })),
    text: z.string(),
    isWhole: z.boolean().describe('False when something was left out or shortened'),
  }),
);

export const Saved = namedSchema(
  'Saved',
  z.strictObject({
    run: z.string(),
    version: z.int(),
    status: StatusName,
    suspended: z.boolean().optional().describe('Whether the run waits now'),
    approval: z.string().optional().describe('The id of the approval that was asked'),
  }),
);

export const Loaded = namedSchema(
  'Loaded',
  z
    .looseObject({ run: z.string(), checkpoint: z.looseObject({ version: z.int(), status: StatusName }) })
    .describe('What an agent needs to go on, as its function is invoked with; above 200 KB a `contentUrl` for it'),
);

export const Upload = namedSchema(
  'Upload',
  z.strictObject({ upload: z.string(), url: z.string(), expiresInSeconds: z.number() }),
);
