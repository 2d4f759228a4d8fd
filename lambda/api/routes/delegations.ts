import * as z from 'zod';
import { checkPerson } from '../../core/approval.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { requireDelegationEnder, requireDelegator } from '../../http/delegation-access.ts';
import { DECIDE_ROLES, hasRole, INBOX_ROLES, notAllowed, OPERATE_ROLES } from '../../http/roles.ts';
import { type Route, route } from '../route.ts';
import { Delegation, Delegations } from '../schemas/delegations.ts';
import { namedSchema } from '../schemas/named.ts';
import { Group, Person, Timestamp } from '../schemas/values.ts';
import { answeringAs } from './approvals.ts';

/** Routes of delegations: who answers approvals for whom. */
export const DELEGATION_ROUTES: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/api/delegations', access: INBOX_ROLES, name: 'listDelegations' },
    summary: 'List the delegations from and to the caller; with `all`, those of everybody',
    query: z.strictObject({
      all: z.boolean().optional().describe('The delegations of everybody; operators only'),
      person: Person.optional().describe('For callers who answer for others'),
    }),
    responses: { 200: { description: 'Delegations that have not ended, at most 1,000', schema: Delegations } },
    async handle({ operator, caller, query: { all, person } }) {
      if (all && !hasRole(caller, OPERATE_ROLES))
        throw notAllowed('Only an operator can list the delegations of other people.');
      if (!all && !hasRole(caller, DECIDE_ROLES))
        throw notAllowed('Only an approver has delegations. Operators pass `all=true`.');
      const of = all ? {} : { person: answeringAs(caller, person, undefined).by };
      return { status: 200, json: { delegations: await operator.delegations(of) } };
    },
  }),

  route({
    ...{ method: 'POST', path: '/api/delegations', access: DECIDE_ROLES, name: 'delegate' },
    summary: 'Let someone answer for the caller; replaces the earlier delegation',
    body: {
      schema: namedSchema(
        'Delegate',
        z.strictObject({
          delegate: Person.describe('Who answers, such as user:cho'),
          until: Timestamp.describe('When it ends, at most 366 days from now'),
          from: Timestamp.optional().describe('When it begins. Default: now'),
          person: Person.optional().describe('Who is away, for callers who answer for others. Default: the caller'),
          createdBy: Person.optional().describe('Who makes it, for callers who answer for others'),
          groups: z
            .array(Group)
            .max(100)
            .optional()
            .describe('The groups of the person whose inboxes the delegate sees, for callers who answer for others'),
        }),
      ),
    },
    responses: { 201: { description: 'The delegation', schema: Delegation } },
    problems: [409],
    async handle({ operator, caller, body }) {
      const { delegate, until, from, person, createdBy, groups } = await body();
      const made = await operator.delegate({
        ...requireDelegator(caller, { person, createdBy, groups }),
        delegate: checkPerson('`delegate`', delegate),
        until: new Date(until),
        ...omitUndefined({ from: from === undefined ? undefined : new Date(from) }),
      });
      return { status: 201, json: made };
    },
  }),

  route({
    ...{ method: 'POST', path: '/api/delegations/{person}/end', access: DECIDE_ROLES, name: 'endDelegation' },
    summary: 'End a delegation early, as the person who is away or as the delegate',
    params: z.strictObject({ person: Person }),
    body: { schema: namedSchema('EndDelegation', z.strictObject({})) },
    responses: {
      200: {
        description: 'Whether there was a delegation to end',
        schema: namedSchema('EndedDelegation', z.strictObject({ person: z.string(), ended: z.boolean() })),
      },
    },
    async handle({ operator, caller, params, body }) {
      await body();
      const person = checkPerson('The person', params.person);
      await requireDelegationEnder(caller, operator, person);
      return { status: 200, json: { person, ended: (await operator.endDelegation(person)) !== undefined } };
    },
  }),
];
