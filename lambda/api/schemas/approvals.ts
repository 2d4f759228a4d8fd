import * as z from 'zod';
import { APPROVAL_STATUSES } from '../../core/approval.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { AnswerInput } from '../../runtime/approvals/decide-input.ts';
import { namedSchema } from './named.ts';
import { ProblemSchema } from './problems.ts';
import { Document, StatusName, StringList, Timestamp } from './values.ts';

/** The fields of a decision, by link or by API. */
export const decisionFields = {
  answer: z
    .enum(['approve', 'reject'])
    .optional()
    .describe('Required, unless there is a `value`; `reject` declines a question'),
  value: z.unknown().optional().describe('The answer to a question, which matches its `answerSchema`'),
  comment: z.string().max(10_000).optional(),
  edits: z
    .unknown()
    .optional()
    .describe('Changes to what is approved, if the approval is editable; in a form, JSON as text'),
  contentHash: z
    .string()
    .max(200)
    .optional()
    .describe('The hash of what the approver saw; the decision is rejected if the approval shows something else'),
};

/** Refuses a request without a decision. */
export const requireDecision = <S extends z.ZodObject>(schema: S): S =>
  schema.refine(({ answer, value }) => answer !== undefined || value !== undefined, {
    path: ['answer'],
    message: 'must be "approve" or "reject", or there must be a `value`',
  });

type DecisionFields = z.infer<z.ZodObject<typeof decisionFields>>;

/** The decision in a request; a missing answer is refused when it is recorded. */
export const toAnswerInput = (fields: DecisionFields): AnswerInput => omitUndefined(fields) as AnswerInput;

const Schema = z.record(z.string(), z.unknown());

const Vote = namedSchema(
  'Vote',
  z.strictObject({
    by: z.string(),
    for: z.string().optional().describe('The person for whom a delegate voted'),
    delegation: z
      .strictObject({ from: Timestamp, until: Timestamp, createdBy: z.string(), createdAt: Timestamp })
      .optional()
      .describe('The delegation that allowed it'),
    as: z.string().optional().describe('The group on whose behalf they voted'),
    membership: z
      .literal('stated')
      .optional()
      .describe('An administrator said that they belong to the group, and nobody checked it'),
    answer: z.enum(['approve', 'reject']),
    at: Timestamp,
    comment: z.string().optional(),
    edits: z.unknown().optional().describe('The changes that this vote proposed'),
    value: z.unknown().optional().describe('The answer that this vote gave to a question'),
    counts: z
      .boolean()
      .describe('Whether it counts for what is decided on now; earlier approvals do not count for proposed changes'),
  }),
);

export const Approval = namedSchema(
  'Approval',
  z.strictObject({
    tenant: z.string(),
    run: z.string(),
    id: z.string(),
    agent: z.string().optional(),
    name: z.string(),
    requestNumber: z.int().describe('1 for the first request, 2 for its follow-up, and so on'),
    status: z.enum(APPROVAL_STATUSES),
    title: z.string(),
    show: Document.optional(),
    facts: Document.optional(),
    changed: z.strictObject({ before: Document, after: Document }).optional(),
    contentHash: z.string().describe('The hash of everything that is shown; send it with the decision'),
    proposal: z
      .strictObject({ by: z.string(), for: z.string().optional(), at: Timestamp, edits: z.unknown() })
      .optional()
      .describe('The newest changes that an approver proposed; a decision is about the request with these changes'),
    answerSchema: Schema.optional().describe(
      'For a question: the JSON Schema of its answer. In a list, a large schema is {}',
    ),
    answer: z
      .strictObject({ by: z.string(), for: z.string().optional(), at: Timestamp, value: z.unknown() })
      .optional()
      .describe('The newest answer to a question; it is final when the status is APPROVED'),
    approvers: StringList,
    quorum: z.int(),
    requestedAt: Timestamp,
    deadline: Timestamp.optional(),
    editable: z.boolean(),
    editsSchema: Schema.optional().describe('The JSON Schema of edits; absent if any JSON can be sent'),
    members: z
      .record(z.string(), StringList)
      .optional()
      .describe('The members of groups, as the agent listed them when approvers were last notified'),
    openGroups: z.literal(true).optional().describe('Anyone can vote for a group whose members nobody knows'),
    requestedBy: z.string().optional().describe('The person who requested the run'),
    excludeRequester: z.literal(true).optional().describe('Whoever requested the run cannot vote'),
    for: z.string().optional().describe('In an inbox or behind a link: the person for whom its owner answers'),
    votes: z.array(Vote),
    endedAt: Timestamp.optional(),
    outcome: z.enum(['approve', 'reject', 'fail']).optional(),
    withdrawalReason: z.string().optional(),
    unsentNotification: z
      .strictObject({
        kind: z.enum(['requested', 'proposed', 'reminder', 'escalated']),
        since: Timestamp,
        attempts: z.int().describe('The failed attempts; 0 if no running process has the agent'),
      })
      .optional()
      .describe('Present if approvers should have been notified more than two minutes ago, and were not'),
  }),
);

export const Approvals = namedSchema('Approvals', z.strictObject({ approvals: z.array(Approval) }));

export const DecideAllResults = namedSchema(
  'DecideAllResults',
  z.strictObject({
    results: z.array(
      z.strictObject({
        run: z.string(),
        approval: z.string(),
        isNew: z
          .boolean()
          .optional()
          .describe(
            'Whether this request recorded the vote; false if the vote, or the same outcome, was recorded before',
          ),
        title: z.string().optional(),
        status: z.enum(APPROVAL_STATUSES).optional().describe('PENDING if more approvals are needed'),
        votes: z.array(Vote).optional().describe('Without comments and edits'),
        problem: ProblemSchema.optional().describe('Why it was not decided; then all other fields are absent'),
      }),
    ),
  }),
);

export const Link = namedSchema(
  'Link',
  z.strictObject({
    approval: Approval,
    person: z.string().describe('The person that the link was created for'),
    delegationEnded: z
      .literal(true)
      .optional()
      .describe('The person answers for someone else, and can no longer do that'),
    run: z.strictObject({ status: StatusName, agent: z.string().optional() }),
    hasFollowUp: z
      .boolean()
      .optional()
      .describe('Whether a follow-up request replaced this one: facts changed, or the edits were rejected'),
  }),
);
