import * as z from 'zod';
import { STATUSES } from '../../core/status.ts';
import { MAX_VERSION } from '../../storage/keys.ts';
import { namedSchema } from './named.ts';

/** A document: JSON in which `$` nodes stand for what JSON lacks. What it may hold is checked where it is kept. */
export const Document = namedSchema(
  'Document',
  z
    .unknown()
    .describe(
      'Any JSON. An object with the single key `$` stands for what JSON lacks, such as {"$":["date",0]}, {"$":["payload",id,sha256,size,type]}; in answers {"$":["cut",kind,size,shown]} stands for a list, object or text that was shortened.',
    ),
);

export const Timestamp = z.iso.datetime({ offset: true }).describe('A moment in ISO 8601');
export const Version = z.int().min(1).max(MAX_VERSION);
export const RunId = z.string().min(1).max(256).describe('The id of a run: any characters');
export const PayloadId = z.string().min(1).max(200);
export const StatusName = namedSchema('Status', z.enum(STATUSES));
export const Name = z.string().min(1).max(256);
export const StringList = z.array(z.string());
export const Tags = z.array(Name).max(50);

/** A person who is asked, by name. */
export const Person = z
  .string()
  .max(256)
  .regex(/^(?!group:)./s, 'must be a person such as user:ann')
  .describe('Such as user:ann');
/** A group of people. */
export const Group = z
  .string()
  .max(256)
  .regex(/^group:.+$/s, 'must be a group such as group:finance')
  .describe('Such as group:finance');

const part = z.number().min(0).optional();
/** A length of time: its parts are added up. */
export const Duration = namedSchema(
  'Duration',
  z.strictObject({ days: part, hours: part, minutes: part, seconds: part, milliseconds: part }),
);

export const CheckpointId = z.strictObject({ run: z.string(), version: z.int() });

/** The parameters of a path that names a run. */
export const runParams = z.strictObject({ run: RunId });

/** What of a page is left. */
export const Cursor = z.string().min(1).max(8000).describe('That of the page before');
