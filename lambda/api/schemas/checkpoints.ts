import * as z from 'zod';
import { namedSchema } from './named.ts';
import { CheckpointId, Document, Duration, StatusName, Timestamp } from './values.ts';

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

export const CheckpointSummary = namedSchema('CheckpointSummary', z.strictObject(summary));

export const CheckpointsPage = namedSchema(
  'CheckpointsPage',
  z.strictObject({
    checkpoints: z.array(CheckpointSummary),
    next: z.int().optional().describe('The version of the next page: pass it as `from`, or as `to` with `newestFirst`'),
  }),
);

const SpanPart = {
  kind: z.enum(['step', 'failure', 'queued', 'waiting', 'crash', 'change']),
  label: z.string(),
  from: Timestamp,
  to: Timestamp,
};

export const TimelinePage = namedSchema(
  'TimelinePage',
  z.strictObject({
    spans: z.array(
      z.strictObject({
        ...SpanPart,
        status: StatusName,
        version: z.int().optional().describe('The checkpoint that ended the span; absent for the current one'),
        parts: z.array(z.strictObject(SpanPart)).optional().describe('Operations that ran side by side'),
      }),
    ),
    totals: z.record(SpanPart.kind, z.int()).describe('The milliseconds of each kind of span'),
    crashes: z.int(),
    failures: z.int(),
    first: z.int().describe('The oldest version that was read'),
    last: z.int().describe('The newest version that was read'),
    isWhole: z.boolean().describe('Whether the totals are of the whole run; otherwise they are of this page'),
    next: z.int().optional().describe('Pass it as `to` to get the page before'),
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
    content: Document.describe('`state`, `toolResults` and `model`, or the part that `path` selects'),
    isComplete: z.boolean().describe('False if the content was truncated; request the rest with `path`'),
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
    isComplete: z.boolean().describe('False if changes were left out or truncated'),
  }),
);

export const Saved = namedSchema(
  'Saved',
  z.strictObject({
    run: z.string(),
    version: z.int(),
    status: StatusName,
    suspended: z.boolean().optional().describe('Whether the run is now suspended'),
    approval: z.string().optional().describe('The id of the requested approval'),
    child: z.string().optional().describe('The id of the child run'),
  }),
);

export const Upload = namedSchema(
  'Upload',
  z.strictObject({ upload: z.string(), url: z.string(), expiresIn: Duration }),
);
