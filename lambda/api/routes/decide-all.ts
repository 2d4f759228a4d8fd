import * as z from 'zod';
import { checkPerson } from '../../core/approval.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { Caller } from '../../http/caller.ts';
import { MAX_DECIDE_ALL_BYTES } from '../../http/limits.ts';
import { toProblem } from '../../http/problem.ts';
import { reportDecisions } from '../../http/report-decisions.ts';
import { DECIDE_ROLES, seesApprovers } from '../../http/roles.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { type DecideAllResult, MAX_DECIDED_TOGETHER } from '../../runtime/approvals/decide-all.ts';
import { listedVotes } from '../responses.ts';
import { type Route, route } from '../route.ts';
import { DecideAllResults, decisionFields } from '../schemas/approvals.ts';
import { namedSchema } from '../schemas/named.ts';
import { Group, Person, RunId } from '../schemas/values.ts';
import { answeringAs } from './approvals.ts';

const { comment, contentHash } = decisionFields;

const DecideAll = namedSchema(
  'DecideAll',
  z.strictObject({
    answer: z
      .enum(['approve', 'reject'])
      .describe('A question cannot be approved without its answer; `reject` declines it'),
    comment: comment.describe('Recorded with each decision'),
    approvals: z
      .array(
        z.strictObject({
          run: RunId,
          approval: z.string().min(1).max(1000),
          contentHash: contentHash.unwrap().min(1).describe('The hash of what the approver saw'),
        }),
      )
      .min(1)
      .max(MAX_DECIDED_TOGETHER)
      .describe('Approvals of one kind: the same agent and the same name. Each is named once'),
    for: Person.optional().describe(
      'The person for whom they decide as their delegate. Default: where they are not an approver, someone who is and delegated it to them',
    ),
    by: Person.optional().describe('For callers who answer for others'),
    groups: z.array(Group).max(100).optional().describe('The groups of that person'),
  }),
);

/** The route that decides several approvals with one answer. */
export const DECIDE_ALL_ROUTE: Route = route({
  ...{ method: 'POST', path: '/api/approvals/decide', access: DECIDE_ROLES, name: 'decideApprovals' },
  summary: 'Decide several approvals of one kind with one answer, as the person who calls',
  description:
    'Each decision is recorded by itself, and each has a result: the approval after the decision, or a problem. Repeating the request records nothing twice.',
  body: { maxBytes: MAX_DECIDE_ALL_BYTES, schema: DecideAll },
  responses: {
    200: { description: 'A result for each approval, in the order of the request', schema: DecideAllResults },
  },
  async handle({ operator, caller, api, body }) {
    const given = await body();
    const who = answeringAs(caller, given.by, given.groups);
    const { answer, approvals } = given;
    const results = await operator.decideAll({
      ...who,
      answer,
      approvals,
      ...omitUndefined({ comment: given.comment }),
      ...(given.for !== undefined && { for: checkPerson('`for`', given.for) }),
    });
    reportDecisions(api.telemetry, results);
    return { status: 200, json: { results: results.map((result) => toResponse(caller, result)) } };
  },
});

const toResponse = (caller: Caller, { run, approval, ...result }: DecideAllResult<ApprovalDocument>): object =>
  'error' in result
    ? { run, approval, problem: toProblem(result.error, { seesApprovers: seesApprovers(caller) }) }
    : {
        ...{ run, approval, isNew: result.isNew },
        ...{ title: result.view.title, status: result.view.status, votes: listedVotes(result.view) },
      };
