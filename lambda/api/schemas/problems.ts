import * as z from 'zod';
import { namedSchema } from './named.ts';

/** What every problem looks like. */
export const ProblemSchema = namedSchema(
  'Problem',
  z.strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().describe('What went wrong, for programs'),
    errors: z.array(z.strictObject({ path: z.string(), detail: z.string() })).optional(),
    found: z
      .strictObject({ version: z.int(), status: z.string().optional() })
      .optional()
      .describe('What is there, where another version was expected'),
  }),
);
