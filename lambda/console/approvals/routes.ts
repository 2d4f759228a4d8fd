import type { Hono } from 'hono';
import { checkPerson } from '../../core/approval.ts';
import type { Caller } from '../../http/caller.ts';
import type { ApiEnv } from '../../http/request-variables.ts';
import {
  APPROVAL_VIEW_ROLES,
  DECIDE_ROLES,
  hasRole,
  INBOX_ROLES,
  notAllowed,
  OPERATE_ROLES,
  requireApprovalAccess,
  requireDecider,
} from '../../http/roles.ts';
import { PATHS, queryString } from '../paths.ts';
import {
  authorize,
  type ConsoleContext,
  type ConsoleOptions,
  htmlResponse,
  idFromPath,
  OVERLAP_MS,
  parseGroups,
  parseWholeNumber,
  readForm,
  redirectTo,
  submitForm,
} from '../request.ts';
import { type ApprovalPageOptions, approvalPage } from './approval-page.ts';
import { awayRoutes } from './away/routes.ts';
import { needsDelegations } from './deciders.ts';
import { EVERYBODY, type InboxView, inboxChanges, inboxPage } from './inbox-page.ts';
import { readDecisionForm } from './submitted-decision.ts';
import { togetherRoutes } from './together/routes.ts';
import { whoAnswers } from './who-answers.ts';

/** Registers the inbox and the pages of approvals. */
export function approvalRoutes(app: Hono<ApiEnv>, options: ConsoleOptions): void {
  const { runtime, telemetry } = options;
  const now = () => new Date(runtime.clock.now());

  app.get('/inbox', async (context) => htmlResponse(context, inboxPage(await inbox(context, now()))));

  togetherRoutes(app, options);
  awayRoutes(app, options);

  app.get('/inbox/changes', async (context) => {
    const { operator } = authorize(context, INBOX_ROLES);
    const since = new Date(parseWholeNumber(context.req.query('since')) ?? 0);
    // Any status counts: a suspended run may have requested an approval, and a resumed one was decided.
    const [newest] = (await operator.runs({ since, limit: 1 })).runs;
    if (!newest) return context.body(null, 204);
    return htmlResponse(
      context,
      inboxChanges({ ...(await inbox(context, now())), since: new Date(newest.updatedAt.getTime() + 1) }),
    );
  });

  const APPROVAL = '/runs/:run/approvals/:approval';

  app.get(APPROVAL, async (context) => htmlResponse(context, approvalPage(await loaded(context, now()))));

  app.post(APPROVAL, async (context) => {
    const { caller, operator } = authorize(context, DECIDE_ROLES);
    const form = await readForm(context);
    return submitForm(
      context,
      async () => {
        const { approval } = await loaded(context, now());
        const who = whoAnswers(caller, form.member ?? form.by);
        const personFor = form.for === undefined ? {} : { for: checkPerson('`for`', form.for) };
        await operator.decide(approval.run, {
          ...readDecisionForm(approval, form),
          ...who,
          ...personFor,
          approval: approval.id,
        });
        telemetry.count('DecisionRecorded');
        const as = caller.decidesForOthers ? who.by : undefined;
        return redirectTo(context, `${PATHS.approval(approval.run, approval.id)}${queryString({ as })}`);
      },
      async (problem) => approvalPage({ ...(await loaded(context, now())), problem, formValues: form }),
    );
  });

  app.post(`${APPROVAL}/remind`, async (context) => {
    const { operator } = authorize(context, OPERATE_ROLES);
    const [run, id] = [idFromPath(context), idFromPath(context, 2)];
    await operator.remind(run, id);
    return redirectTo(context, PATHS.approval(run, id));
  });

  app.post(`${APPROVAL}/withdraw`, async (context) => {
    const { operator } = authorize(context, OPERATE_ROLES);
    const { reason = '' } = await readForm(context);
    const [run, id] = [idFromPath(context), idFromPath(context, 2)];
    return submitForm(
      context,
      async () => {
        await operator.withdraw(run, id, reason);
        return redirectTo(context, PATHS.approval(run, id));
      },
      async (problem) => approvalPage({ ...(await loaded(context, now())), problem }),
    );
  });
}

async function inbox(context: ConsoleContext, now: Date): Promise<InboxView> {
  const { caller, operator } = authorize(context, INBOX_ROLES);
  const { as = '', groups: given } = context.req.query();
  const { person, groups } = whose(caller, as.trim() || undefined, parseGroups(given));
  const approvals = person === undefined ? await operator.pendingApprovals() : await operator.inbox(person, { groups });
  const problem = context.req.query('selected') === 'none' ? NOTHING_SELECTED : undefined;
  return { caller, person, groups, approvals, problem, since: new Date(now.getTime() - OVERLAP_MS), now };
}

const NOTHING_SELECTED = {
  status: 400,
  title: 'No request is selected',
  detail: 'Check the boxes of the requests that get the same answer, or decide all of them.',
};

/** The inbox that a caller sees: everybody's for an operator, their own for an approver, or that of a named person. */
function whose(caller: Caller, as: string | undefined, groups: readonly string[]) {
  if (as !== undefined && as !== EVERYBODY && as !== caller.person) {
    if (caller.decidesForOthers) return { person: checkPerson('The person of an inbox', as), groups };
    throw notAllowed('This inbox belongs to someone else. Open the inbox without `as` to see yours.');
  }
  if (hasRole(caller, OPERATE_ROLES) && (as === undefined || as === EVERYBODY))
    return { person: undefined, groups: [] };
  const { by, groups: own } = requireDecider(caller);
  return { person: by, groups: own };
}

/** Loads the approval in the path, for callers who can read it. */
async function loaded(context: ConsoleContext, now: Date): Promise<ApprovalPageOptions> {
  const { caller, operator } = authorize(context, APPROVAL_VIEW_ROLES);
  const { approval, run, followUp } = await operator.approvalInRun(idFromPath(context), idFromPath(context, 2));
  await requireApprovalAccess(caller, approval, operator);
  const as = caller.decidesForOthers ? context.req.query('as') : undefined;
  const delegations = needsDelegations(caller, approval) ? await operator.delegationsOf(approval) : [];
  return { caller, approval, run, followUp, as, delegations, now };
}
