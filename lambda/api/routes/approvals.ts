import * as z from 'zod';
import { present } from '../../core/omit-undefined.ts';
import type { Caller } from '../../http/caller.ts';
import { MOST_ANSWER } from '../../http/limits.ts';
import { ANSWER, ASKED, INBOX, LOOK, may, needAsked, notAllowed, OPERATE, ownAnswer } from '../../http/roles.ts';
import { DOWNLOADED, downloaded } from '../download.ts';
import { approvalAnswer, approvalsAnswer } from '../responses.ts';
import { type Route, route } from '../route.ts';
import { Approval, Approvals, answerFields } from '../schemas/approvals.ts';
import { named } from '../schemas/named.ts';
import { Group, ofRun, PayloadId, Person } from '../schemas/values.ts';

const Limit = z.int().min(1).max(100).optional();
const ofApproval = ofRun.extend({ approval: z.string().min(1).max(1000) });
const LISTED = {
  200: {
    description: 'Approvals, with what they show shortened, and votes without comments and edits',
    schema: Approvals,
  },
};
const answers = { 200: { description: 'The approval', schema: Approval } };

/** Approvals: what waits for whom, answers, reminders, withdrawals. */
export const APPROVAL_ROUTES: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/api/approvals', may: INBOX, name: 'listApprovals' },
    summary: 'What the caller can still answer, oldest first; with `all`, everything that is open',
    query: z.strictObject({
      all: z.boolean().optional().describe('All that is open, for operators'),
      person: Person.optional().describe('For callers who answer for others'),
      group: z.array(Group).max(100).optional().describe('The groups of that person'),
      limit: Limit,
    }),
    answers: LISTED,
    async handle({ desk, caller, query }) {
      const { all, limit, person, group } = query;
      if (all) {
        if (!may(caller, OPERATE)) throw notAllowed('Only an operator sees what others are asked.');
        return { status: 200, json: approvalsAnswer(await desk.openApprovals(present({ limit }))) };
      }
      if (!may(caller, ANSWER)) throw notAllowed('Only an approver has an inbox; operators pass `all=true`.');
      const { by, groups } = answeringAs(caller, person, group);
      return { status: 200, json: approvalsAnswer(await desk.inbox(by, { groups, ...present({ limit }) })) };
    },
  }),

  route({
    ...{ method: 'GET', path: '/api/runs/{run}/approvals', may: LOOK, name: 'listApprovalsOfRun', params: ofRun },
    summary: 'All approvals of a run, open and ended, oldest first',
    answers: LISTED,
    problems: [404, 410],
    handle: async ({ desk, params: { run } }) => ({ status: 200, json: approvalsAnswer(await desk.approvals(run)) }),
  }),

  route({
    ...{ method: 'GET', path: '/api/runs/{run}/approvals/{approval}', may: ASKED, name: 'getApproval' },
    summary: 'One approval; an approver sees those that they are asked',
    ...{ params: ofApproval, answers },
    problems: [404, 410],
    async handle({ desk, caller, params: { run, approval } }) {
      const found = await desk.approval(run, approval);
      needAsked(caller, found);
      return { status: 200, json: approvalAnswer(found) };
    },
  }),

  route({
    ...{ method: 'GET', path: '/api/runs/{run}/approvals/{approval}/payloads/{payload}', may: ASKED },
    ...{ name: 'getApprovalPayload', summary: 'A payload that an approval shows' },
    params: ofApproval.extend({ payload: PayloadId }),
    answers: DOWNLOADED,
    problems: [404, 410, 413],
    async handle(request) {
      const { run, approval, payload } = request.params;
      needAsked(request.caller, await request.desk.approval(run, approval));
      return downloaded(request, { run, from: { approval }, id: payload });
    },
  }),

  route({
    ...{ method: 'POST', path: '/api/runs/{run}/approvals/{approval}/decide', may: ANSWER, name: 'decideApproval' },
    summary: 'Answers, as the person that the caller is; given again, it gives what is recorded',
    params: ofApproval,
    body: {
      mostBytes: MOST_ANSWER,
      schema: named(
        'Decide',
        z.strictObject({
          ...answerFields,
          by: Person.optional().describe('For callers who answer for others'),
          groups: z.array(Group).max(100).optional().describe('The groups of that person'),
        }),
      ),
    },
    answers,
    problems: [404, 409, 410],
    async handle({ desk, caller, api, params: { run, approval }, body }) {
      const { answer, comment, edits, shown, ...who } = await body();
      const as = answeringAs(caller, who.by, who.groups);
      const said = { approval, answer, ...present({ comment, edits, shown }) };
      const decided = await desk.decide(run, { ...said, ...as });
      api.observing.count('ApprovalAnswered');
      return { status: 200, json: approvalAnswer(decided) };
    },
  }),

  route({
    ...{ method: 'POST', path: '/api/runs/{run}/approvals/{approval}/remind', may: OPERATE, name: 'remindApprovers' },
    ...{ summary: 'Has people told once more', params: ofApproval, answers },
    body: { schema: named('Remind', z.strictObject({})) },
    problems: [404, 409, 410],
    async handle({ desk, params: { run, approval }, body }) {
      await body();
      return { status: 200, json: approvalAnswer(await desk.remind(run, approval)) };
    },
  }),

  route({
    ...{
      method: 'POST',
      path: '/api/runs/{run}/approvals/{approval}/withdraw',
      may: OPERATE,
      name: 'withdrawApproval',
    },
    ...{
      summary: 'Ends an approval that nobody needs any more; its run takes it for a no',
      params: ofApproval,
      answers,
    },
    body: { schema: named('Withdraw', z.strictObject({ why: z.string().min(1).max(500) })) },
    problems: [404, 409, 410],
    async handle({ desk, params: { run, approval }, body }) {
      const { why } = await body();
      return { status: 200, json: approvalAnswer(await desk.withdraw(run, approval, why)) };
    },
  }),
];

/** Who answers: the person that the caller is, or whom a caller names who may answer for others. */
function answeringAs(caller: Caller, person: string | undefined, groups: readonly string[] | undefined) {
  if (person === undefined && groups === undefined) return ownAnswer(caller);
  if (!caller.answersForOthers) throw notAllowed('This caller may not answer for others: leave out who answers.');
  if (person === undefined) throw notAllowed('Groups are those of a person: say who answers.');
  return { by: person, groups: groups ?? [] };
}
