import * as z from 'zod';
import { namedSchema } from './named.ts';
import { StringList, Timestamp } from './values.ts';

export const Delegation = namedSchema(
  'Delegation',
  z.strictObject({
    person: z.string().describe('Who is away'),
    delegate: z.string().describe('Who answers for them'),
    from: Timestamp,
    until: Timestamp,
    createdBy: z.string(),
    createdAt: Timestamp,
    groups: StringList.optional().describe('The groups of the person whose inboxes the delegate sees'),
  }),
);

export const Delegations = namedSchema('Delegations', z.strictObject({ delegations: z.array(Delegation) }));
