import * as z from 'zod';
import { checkPerson } from '../../core/approval.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { Caller } from '../../http/caller.ts';
import { MAX_DECISION_BYTES } from '../../http/limits.ts';
import {
  APPROVAL_VIEW_ROLES,
  DECIDE_ROLES,
  hasRole,
  INBOX_ROLES,
  notAllowed,
  OPERATE_ROLES,
  requireApprovalAccess,
  requireDecider,
  VIEW_ROLES,
} from '../../http/roles.ts';
import { DOWNLOAD_RESPONSES, downloadPayload } from '../download.ts';
import { approvalResponse, approvalsResponse } from '../responses.ts';
import { type Route, route } from '../route.ts';
import { Approval, Approvals, decisionFields, requireDecision, toAnswerInput } from '../schemas/approvals.ts';
import { namedSchema } from '../schemas/named.ts';
import { Group, Name, PayloadId, Person, runParams } from '../schemas/values.ts';

const Limit = z.int().min(1).max(100).optional();
const ofApproval = runParams.extend({ approval: z.string().min(1).max(1000) });
const LISTED = {
  200: {
    description: 'Approvals, with truncated documents, and votes without comments and edits',
    schema: Approvals,
  },
};
const answers = { 200: { description: 'The approval', schema: Approval } };

/** Routes that list, decide, remind about and withdraw approvals. */
export const APPROVAL_ROUTES: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/api/approvals', access: INBOX_ROLES, name: 'listApprovals' },
    summary: 'List the approvals that the caller can decide, oldest first; with `all`, every pending approval',
    query: z.strictObject({
      all: z.boolean().optional().describe('Every pending approval; operators only'),
      person: Person.optional().describe('For callers who answer for others'),
      group: z.array(Group).max(100).optional().describe('The groups of that person'),
      agent: Name.optional().describe('Only approvals of this agent'),
      name: Name.optional().describe('Only approvals with this name in the code of their agent'),
      limit: Limit,
    }),
    responses: LISTED,
    async handle({ operator, caller, query }) {
      const { all, person, group } = query;
      const pending = omitUndefined({ agent: query.agent, name: query.name, limit: query.limit });
      if (all) {
        if (!hasRole(caller, OPERATE_ROLES))
          throw notAllowed('Only an operator can list the approvals of other people.');
        return { status: 200, json: approvalsResponse(await operator.pendingApprovals(pending)) };
      }
      if (!hasRole(caller, DECIDE_ROLES)) throw notAllowed('Only an approver has an inbox. Operators pass `all=true`.');
      const { by, groups } = answeringAs(caller, person, group, INBOX_FIELDS);
      return { status: 200, json: approvalsResponse(await operator.inbox(by, { groups, ...pending })) };
    },
  }),

  route({
    ...{
      method: 'GET',
      path: '/api/runs/{run}/approvals',
      access: VIEW_ROLES,
      name: 'listApprovalsOfRun',
      params: runParams,
    },
    summary: 'List all approvals of a run, pending and decided, oldest first',
    responses: LISTED,
    problems: [404, 410],
    handle: async ({ operator, params: { run } }) => ({
      status: 200,
      json: approvalsResponse(await operator.approvals(run)),
    }),
  }),

  route({
    ...{
      method: 'GET',
      path: '/api/runs/{run}/approvals/{approval}',
      access: APPROVAL_VIEW_ROLES,
      name: 'getApproval',
    },
    summary: 'Get an approval. An approver can get those that they can decide',
    ...{ params: ofApproval, responses: answers },
    problems: [404, 410],
    async handle({ operator, caller, params: { run, approval } }) {
      const found = await operator.approval(run, approval);
      await requireApprovalAccess(caller, found, operator);
      return { status: 200, json: approvalResponse(found) };
    },
  }),

  route({
    ...{ method: 'GET', path: '/api/runs/{run}/approvals/{approval}/evidence', access: VIEW_ROLES },
    name: 'getEvidence',
    summary: 'Download the evidence of an approval: what was shown, who decided what, and the checkpoints around it',
    description:
      'Check the file with `waitstate evidence --verify FILE`. The checkpoints have the stored content of the run, so approvers cannot download it.',
    params: ofApproval,
    responses: { 200: { description: 'The evidence', types: ['application/json'] } },
    problems: [404, 410],
    async handle({ operator, params: { run, approval } }) {
      const bundle = await operator.evidence(run, approval);
      return new Response(`${JSON.stringify(bundle, undefined, 2)}\n`, {
        headers: { 'content-type': 'application/json', 'content-disposition': 'attachment; filename="evidence.json"' },
      });
    },
  }),

  route({
    ...{ method: 'GET', path: '/api/runs/{run}/approvals/{approval}/payloads/{payload}', access: APPROVAL_VIEW_ROLES },
    ...{ name: 'getApprovalPayload', summary: 'Download a payload that an approval shows' },
    params: ofApproval.extend({ payload: PayloadId }),
    responses: DOWNLOAD_RESPONSES,
    problems: [404, 410, 413],
    async handle(request) {
      const { run, approval, payload } = request.params;
      const { caller, operator } = request;
      await requireApprovalAccess(caller, await operator.approval(run, approval), operator);
      return downloadPayload(request, { run, from: { approval }, id: payload });
    },
  }),

  route({
    ...{
      method: 'POST',
      path: '/api/runs/{run}/approvals/{approval}/decide',
      access: DECIDE_ROLES,
      name: 'decideApproval',
    },
    summary: 'Decide as the person who calls. Repeating a decision returns what is recorded',
    description:
      'The response has the approval after the decision; it is PENDING if more votes are needed. Send the `contentHash` of what the person saw, so that the decision is refused with 409 if something else is shown now. Another decision than the recorded one gets 409, one that is late or withdrawn 410. A person who is not an approver gets 403, which lists the `approvers` if the caller can read runs or decides for others.',
    params: ofApproval,
    body: {
      maxBytes: MAX_DECISION_BYTES,
      schema: namedSchema(
        'Decide',
        requireDecision(
          z.strictObject({
            ...decisionFields,
            for: Person.optional().describe(
              'The person for whom they decide as their delegate. Default: if they are not an approver, someone who is and delegated it to them',
            ),
            by: Person.optional().describe('For callers who answer for others'),
            groups: z.array(Group).max(100).optional().describe('The groups of that person'),
          }),
        ),
      ),
    },
    responses: answers,
    problems: [404, 409, 410],
    async handle({ operator, caller, api, params: { run, approval }, body }) {
      const { by, groups, for: delegator, ...decision } = await body();
      const as = answeringAs(caller, by, groups);
      const person = delegator === undefined ? {} : { for: checkPerson('`for`', delegator) };
      const decided = await operator.decide(run, { ...toAnswerInput(decision), approval, ...person, ...as });
      api.telemetry.count('DecisionRecorded');
      return { status: 200, json: approvalResponse(decided) };
    },
  }),

  route({
    ...{
      method: 'POST',
      path: '/api/runs/{run}/approvals/{approval}/remind',
      access: OPERATE_ROLES,
      name: 'remindApprovers',
    },
    ...{ summary: 'Send a reminder to the approvers', params: ofApproval, responses: answers },
    body: { schema: namedSchema('Remind', z.strictObject({})) },
    problems: [404, 409, 410],
    async handle({ operator, params: { run, approval }, body }) {
      await body();
      return { status: 200, json: approvalResponse(await operator.remind(run, approval)) };
    },
  }),

  route({
    ...{
      method: 'POST',
      path: '/api/runs/{run}/approvals/{approval}/withdraw',
      access: OPERATE_ROLES,
      name: 'withdrawApproval',
    },
    ...{
      summary: 'Withdraw a pending approval; the run continues as if it was rejected',
      params: ofApproval,
      responses: answers,
    },
    body: { schema: namedSchema('Withdraw', z.strictObject({ reason: z.string().min(1).max(500) })) },
    problems: [404, 409, 410],
    async handle({ operator, params: { run, approval }, body }) {
      const { reason } = await body();
      return { status: 200, json: approvalResponse(await operator.withdraw(run, approval, reason)) };
    },
  }),
];

/** The fields of a request that name a person and their groups. */
interface PersonFields {
  readonly person: string;
  readonly groups: string;
}

const DECISION_FIELDS: PersonFields = { person: '/by', groups: '/groups' };
const INBOX_FIELDS: PersonFields = { person: 'person', groups: 'group' };

/** The person who decides: the caller, or the person whom a caller names who answers for others. */
export function answeringAs(
  caller: Caller,
  person: string | undefined,
  groups: readonly string[] | undefined,
  fields: PersonFields = DECISION_FIELDS,
) {
  if (person === undefined && groups === undefined) return requireDecider(caller);
  const given = [...(person === undefined ? [] : [fields.person]), ...(groups === undefined ? [] : [fields.groups])];
  const names = given.map((field) => `\`${field.replace('/', '')}\``).join(' and ');
  if (!caller.decidesForOthers)
    throw notAllowed(`This caller may not decide for others. Leave out ${names}.`, ...given);
  if (person === undefined)
    throw notAllowed(
      `Groups belong to a person. Name the person in \`${fields.person.replace('/', '')}\`, or leave out ${names}.`,
      ...given,
    );
  return { by: checkPerson('The person who decides', person), groups: groups ?? [] };
}
