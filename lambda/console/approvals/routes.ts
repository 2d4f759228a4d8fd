import type { Hono } from 'hono';
import { isGroup } from '../../core/approval.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
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
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { PATHS, queryString } from '../paths.ts';
import {
  authorize,
  type ConsoleContext,
  type ConsoleOptions,
  htmlResponse,
  idFromPath,
  OVERLAP_MS,
  parseDocument,
  parseGroups,
  parseWholeNumber,
  readForm,
  redirectTo,
  submitForm,
} from '../request.ts';
import { type ApprovalPageOptions, approvalPage } from './approval-page.ts';
import { EVERYBODY, type InboxView, inboxChanges, inboxPage } from './inbox-page.ts';

/** The inbox, and the pages of approvals. */
export function approvalRoutes(app: Hono<ApiEnv>, { runtime, telemetry }: ConsoleOptions): void {
  const now = () => new Date(runtime.clock.now());

  app.get('/inbox', async (context) => htmlResponse(context, inboxPage(await inbox(context, now()))));

  app.get('/inbox/changes', async (context) => {
    const { operator } = authorize(context, INBOX_ROLES);
    const since = new Date(parseWholeNumber(context.req.query('since')) ?? 0);
    // Of any status: a run that waits may ask something, one that goes on was answered.
    const [newest] = (await operator.runs({ since, limit: 1 })).runs;
    if (!newest) return context.body(null, 204);
    return htmlResponse(
      context,
      inboxChanges({ ...(await inbox(context, now())), since: new Date(newest.touchedAt.getTime() + 1) }),
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
        const { answer: given, comment, shown } = form;
        if (given !== 'approve' && given !== 'reject') throw invalidInput('`answer`', '"approve" or "reject"', given);
        const edits = form.edits === undefined ? undefined : parseDocument('What is to be done otherwise', form.edits);
        const who = whoAnswers(caller, approval, form.member ?? form.by);
        await operator.decide(approval.run, {
          ...{ approval: approval.id, answer: given, ...who },
          ...omitUndefined({ comment, shown, edits }),
        });
        telemetry.count('DecisionRecorded');
        const as = caller.answersForOthers ? who.by : undefined;
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
    const { why = '' } = await readForm(context);
    const [run, id] = [idFromPath(context), idFromPath(context, 2)];
    return submitForm(
      context,
      async () => {
        await operator.withdraw(run, id, why);
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
  return { caller, person, groups, approvals, since: new Date(now.getTime() - OVERLAP_MS), now };
}

/** Whose inbox a caller sees: an operator all of it, an approver their own, and who answers for others whose they name. */
function whose(caller: Caller, as: string | undefined, groups: readonly string[]) {
  if (as !== undefined && as !== EVERYBODY && as !== caller.person) {
    if (caller.answersForOthers) return { person: as, groups };
    throw notAllowed('This is the inbox of somebody else. Yours is there without a name.');
  }
  if (hasRole(caller, OPERATE_ROLES) && (as === undefined || as === EVERYBODY))
    return { person: undefined, groups: [] };
  const { by, groups: own } = requireDecider(caller);
  return { person: by, groups: own };
}

/** The approval of a path, for those who may see it. */
async function loaded(context: ConsoleContext, now: Date): Promise<ApprovalPageOptions> {
  const { caller, operator } = authorize(context, APPROVAL_VIEW_ROLES);
  const approval = await operator.approval(idFromPath(context), idFromPath(context, 2));
  requireApprovalAccess(caller, approval);
  const as = caller.answersForOthers ? context.req.query('as') : undefined;
  const isOpen = approval.status === 'PENDING' && approval.votes.length === 0;
  // While nobody answered, the page does not tell of the run.
  const run = isOpen ? { status: 'WAITING_FOR_APPROVAL' as const } : await operator.run(approval.run);
  return { caller, approval, run, followUp: await operator.followUpApproval(approval.run, approval), as, now };
}

/** The person that a caller is, or names; one who answers for others is taken to know their groups. */
function whoAnswers(caller: Caller, { approvers }: ApprovalDocument, by: string | undefined) {
  if (!caller.answersForOthers || by === undefined) return requireDecider(caller);
  const person = by.trim();
  // Somebody with two names would count twice.
  if (!approvers.includes(person) && !/^user:./.test(person))
    throw invalidInput('Who answers', 'one of those who are asked by name, or "user:" and a name', person);
  return { by: person, groups: approvers.filter(isGroup) };
}
