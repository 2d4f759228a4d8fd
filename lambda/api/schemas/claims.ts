import * as z from 'zod';
import { Lease } from './invocation.ts';
import { namedSchema } from './named.ts';
import { StatusName } from './values.ts';

export const LeasedRun = namedSchema(
  'LeasedRun',
  z.strictObject({
    run: z.string(),
    status: StatusName.describe('ENDING if the run was cancelled or timed out: stop, and finish it'),
    lease: Lease.optional(),
  }),
);
