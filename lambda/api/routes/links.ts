import type { Context } from 'hono';
import * as z from 'zod';
import { withTenant } from '../../checkpoints/engine.ts';
import { isValueField, readDecisionForm, type SubmittedFields } from '../../console/approvals/submitted-decision.ts';
import { linkPage } from '../../console/link-page.ts';
import { isWaitstateError } from '../../core/errors.ts';
import type { AppOptions } from '../../http/app-options.ts';
import { isForm, readBody } from '../../http/body.ts';
import { MAX_DECISION_BYTES } from '../../http/limits.ts';
import { toProblem } from '../../http/problem.ts';
import type { ApiEnv } from '../../http/request-variables.ts';
import { wantsPage } from '../../http/wants-page.ts';
import { createOperator } from '../../operator/create-operator.ts';
import type { LinkedApproval, ReadAnswer } from '../../operator/operator.ts';
import type { AnswerInput } from '../../runtime/approvals/decide-input.ts';
import { linkNotFound } from '../../runtime/approvals/tokens.ts';
import { DOWNLOAD_RESPONSES, downloadPayload } from '../download.ts';
import { approvalResponse } from '../responses.ts';
import { type Route, route, validate } from '../route.ts';
import { decisionFields, Link, requireDecision, toAnswerInput } from '../schemas/approvals.ts';
import { namedSchema } from '../schemas/named.ts';
import { PayloadId } from '../schemas/values.ts';

const Token = z.string().describe('The last part of an approval link');
const params = z.strictObject({ token: Token });
const PAGE = { types: ['text/html'] };

const LinkAnswer = namedSchema('LinkAnswer', requireDecision(z.strictObject(decisionFields)));

const body = { maxBytes: MAX_DECISION_BYTES, acceptsForms: true, schema: LinkAnswer };

/** Routes of approval links: whoever has a link can read and decide one approval, without a login. */
export const LINK_ROUTES: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/approvals/{token}', access: 'everyone', name: 'openLink', params },
    summary: 'Get the approval of a link: a page for browsers, JSON for programs. Changes nothing',
    // Mail programs and trackers add parameters to links.
    query: z.looseObject({ decided: z.string().optional().describe('Set by the page after a decision') }),
    responses: { 200: { description: 'The approval and its votes', schema: Link, ...PAGE } },
    problems: [404],
    async handle({ api, context, params: { token }, query }) {
      const link = await createOperator(api.runtime).approvalByLink(token);
      if (!wantsPage(context)) return { status: 200, json: linkResponse(link), headers: VARY };
      return page(context, linkPage(link, { token, wasJustDecided: query.decided !== undefined, now: nowOf(api) }));
    },
  }),

  route({
    ...{ method: 'POST', path: '/approvals/{token}', access: 'everyone', name: 'answerLink', params, body },
    summary: 'Decide as the person that the link was created for. Repeating a decision returns what is recorded',
    responses: {
      200: { description: 'The recorded decision', schema: Link },
      303: { description: 'For browsers: a redirect to the page', headers: { location: 'The link itself' } },
    },
    problems: [403, 404, 409, 410],
    async handle({ api, context, params: { token } }) {
      const isPage = wantsPage(context);
      let submitted: unknown;
      try {
        submitted = await readBody(context.req.raw, body);
        const decided = await createOperator(api.runtime).decideByLink(token, parseAnswer(context.req.raw, submitted));
        api.telemetry.count('DecisionRecorded');
        if (!isPage) return { status: 200, json: linkResponse(decided), headers: VARY };
        // Only a query, so that it works below any base path.
        return new Response(null, { status: 303, headers: { location: '?decided=true', ...VARY } });
      } catch (error) {
        if (!isPage) throw error;
        return problemPage(api, context, token, error, submitted);
      }
    },
  }),

  route({
    ...{ method: 'GET', path: '/approvals/{token}/payloads/{payload}', access: 'everyone', name: 'getLinkPayload' },
    summary: 'Download a payload that the approval of a link shows',
    params: params.extend({ payload: PayloadId }),
    responses: DOWNLOAD_RESPONSES,
    problems: [404, 413],
    async handle({ api, context, params: { token, payload: id } }) {
      const { tenant, run, id: approval } = (await createOperator(api.runtime).approvalByLink(token)).approval;
      const operator = createOperator({ ...api.runtime, contexts: withTenant(api.runtime.contexts, tenant) });
      return downloadPayload({ api, context, operator }, { run, from: { approval }, id }).catch((error) => {
        throw isWaitstateError(error, 'CHECKPOINT_NOT_FOUND') ? linkNotFound() : error;
      });
    },
  }),
];

// Browsers and programs get different responses at the same URL.
const VARY = { vary: 'Accept' };

/** The decision in a request. What the fields of a form mean depends on the approval. */
function parseAnswer(request: Request, submitted: unknown): AnswerInput | ReadAnswer {
  const fields = Object.entries(Object(submitted) as Record<string, unknown>);
  const others = Object.fromEntries(fields.filter(([name]) => !isForm(request) || !isValueField(name)));
  const decision = validate('An answer', LinkAnswer, others);
  if (!isForm(request)) return toAnswerInput(decision);
  return (approval) => readDecisionForm(approval, submittedTexts(submitted));
}

/** The fields of a submitted form. */
const submittedTexts = (submitted: unknown): SubmittedFields =>
  Object.fromEntries(
    Object.entries(Object(submitted)).filter((field): field is [string, string] => typeof field[1] === 'string'),
  );

/** The page again, with the problem and the submitted values. */
async function problemPage(
  api: AppOptions,
  context: Context<ApiEnv>,
  token: string,
  error: unknown,
  submitted: unknown,
): Promise<Response> {
  const problem = toProblem(error);
  // Internal errors and unknown links get the general error page.
  if (problem.status >= 500 || problem.status === 404) throw error;
  const link = await createOperator(api.runtime).approvalByLink(token);
  const formValues = submittedTexts(submitted);
  return page(context, linkPage(link, { token, problem, formValues, now: nowOf(api) }), problem.status);
}

const nowOf = ({ runtime }: AppOptions): Date => new Date(runtime.clock.now());

const page = (context: Context<ApiEnv>, html: unknown, status = 200): Response =>
  context.html(String(html), status as 200, VARY);

const linkResponse = ({ approval, followUp, ...link }: LinkedApproval): object => ({
  ...link,
  approval: approvalResponse(approval),
  ...(followUp && { hasFollowUp: true }),
});
