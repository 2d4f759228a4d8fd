import * as z from 'zod';
import { STATUSES } from '../../core/status.ts';
import { MAX_VERSION } from '../../storage/keys.ts';
import { namedSchema } from './named.ts';

/** A document: JSON in which `$` nodes stand for types that JSON lacks. The store validates it. */
export const Document = namedSchema(
  'Document',
  z
    .unknown()
    .describe(
      'Any JSON. An object with the single key `$` stands for a type that JSON lacks, such as {"$":["date",0]} or {"$":["payload",id,sha256,size,type]}. In responses, {"$":["truncated",kind,size,shown]} stands for a truncated list, object or text.',
    ),
);

export const Timestamp = z.iso.datetime({ offset: true }).describe('A time in ISO 8601');
export const Version = z.int().min(1).max(MAX_VERSION);
export const RunId = z.string().min(1).max(256).describe('The id of a run; any characters are allowed');
export const PayloadId = z.string().min(1).max(200);
export const StatusName = namedSchema('Status', z.enum(STATUSES));
export const Name = z.string().min(1).max(256);
export const StringList = z.array(z.string());
export const Tags = z.array(Name).max(50);

/** A person. */
export const Person = z
  .string()
  .max(256)
  .regex(/^user:.+$/s, 'must be a person such as user:ann')
  .describe('A person, such as user:ann');
/** A group. */
export const Group = z
  .string()
  .max(256)
  .regex(/^group:.+$/s, 'must be a group such as group:finance')
  .describe('A group, such as group:finance');

/** An approver. */
export const Approver = z
  .string()
  .max(256)
  .regex(/^(user|group):.+$/s, 'must be a person such as user:ann, or a group such as group:finance')
  .describe('A person, such as user:ann, or all members of a group, such as group:finance');

const durationPart = z.number().min(0).optional();
/** A duration: the sum of its parts. */
export const Duration = namedSchema(
  'Duration',
  z.strictObject({
    days: durationPart,
    hours: durationPart,
    minutes: durationPart,
    seconds: durationPart,
    milliseconds: durationPart,
  }),
);

export const CheckpointId = z.strictObject({ run: z.string(), version: z.int() });

/** The parameters of a path with a run. */
export const runParams = z.strictObject({ run: RunId });

/** The position of the next page. */
export const Cursor = z.string().min(1).max(8000).describe('The `cursor` of the previous page');
