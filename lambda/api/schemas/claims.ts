import * as z from 'zod';
import { namedSchema } from './named.ts';
import { Document, StatusName, Timestamp } from './values.ts';

const Lease = namedSchema(
  'Lease',
  z.strictObject({
    id: z.string().describe('Renew and release the lease with this id'),
    until: Timestamp.describe('When another worker can claim the run, unless the lease is renewed'),
  }),
);

export const Claimed = namedSchema(
  'Claimed',
  z
    .looseObject({
      waitstate: z.literal(1),
      tenant: z.string(),
      run: z.string(),
      agent: z.string(),
      lease: Lease,
      checkpoint: z.looseObject({ version: z.int(), status: StatusName }),
      input: Document.optional(),
    })
    .describe('A claimed run with everything that is needed to resume it, as the function of an agent is invoked with'),
);

export const LeasedRun = namedSchema(
  'LeasedRun',
  z.strictObject({
    run: z.string(),
    status: StatusName.describe('ENDING if the run was cancelled or timed out: stop, and finish it'),
    lease: Lease.optional(),
  }),
);
