import * as z from 'zod';
import { namedSchema } from './named.ts';

/** The body of every error response. */
export const ProblemSchema = namedSchema(
  'Problem',
  z.strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().describe('A stable code for programs'),
    errors: z.array(z.strictObject({ path: z.string(), detail: z.string() })).optional(),
    found: z
      .strictObject({ version: z.int(), status: z.string().optional() })
      .optional()
      .describe('The current version, where another one was expected'),
    approvers: z
      .array(z.string())
      .optional()
      .describe('Who can decide the approval; only in responses to callers who can read it'),
  }),
);
