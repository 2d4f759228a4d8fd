import type { Hono } from 'hono';
import type { Caller } from '../../api/caller.ts';
import type { ApiEnv } from '../../api/environment.ts';
import { ANSWER, ANYBODY, OPERATE } from '../../api/may.ts';
import { HttpError } from '../../api/problem.ts';
import { isGroup, mayDecide, notAnApprover } from '../../core/approval.ts';
import { refused } from '../../core/input.ts';
import { present } from '../../core/present.ts';
import type { ApprovalDocument } from '../../desk/approval-document.ts';
import type { Desk } from '../../desk/desk.ts';
import { PATHS, query } from '../paths.ts';
import {
  answer,
  type ConsoleContext,
  type ConsoleOptions,
  documentIn,
  formIn,
  goTo,
  idIn,
  need,
  numberIn,
  tried,
} from '../request.ts';
import { mayStart } from '../rights.ts';
import { type ApprovalPageOptions, approvalPage } from './approval-page.ts';
import { groupsIn, type InboxView, inboxChanges, inboxPage } from './inbox-page.ts';

/** The inbox, and the pages of approvals. */
export function approvalRoutes(app: Hono<ApiEnv>, { runtime, observing }: ConsoleOptions): void {
  const now = () => new Date(runtime.clock.now());

  app.get('/inbox', async (context) => answer(context, inboxPage(await inbox(context, now()))));

  app.get('/inbox/changes', async (context) => {
    const since = numberIn(context.req.query('since')) ?? 0;
    const [newest] = await changedSince(context.get('desk'), new Date(since));
    if (!newest) return context.body(null, 204);
    return answer(
      context,
      inboxChanges({ ...(await inbox(context, now())), since: new Date(newest.touchedAt.getTime() + 1) }),
    );
  });

  const APPROVAL = '/runs/:run/approvals/:approval';

  app.get(APPROVAL, async (context) => answer(context, approvalPage(await opened(context, now()))));

  app.post(APPROVAL, async (context) => {
    const caller = context.get('caller');
    need(caller, ANSWER);
    const form = await formIn(context);
    return tried(
      context,
      async () => {
        const { approval } = await opened(context, now());
        const { answer: given, comment, shown } = form;
        if (given !== 'approve' && given !== 'reject') throw refused('`answer`', '"approve" or "reject"', given);
        const edits = form.edits === undefined ? undefined : documentIn('What is to be done otherwise', form.edits);
        const who = whoAnswers(caller, approval, form.by);
        await context.get('desk').decide(approval.run, {
          ...{ approval: approval.id, answer: given, ...who },
          ...present({ comment, shown, edits }),
        });
        observing.count('ApprovalAnswered');
        const as = caller.answersForOthers ? who.by : undefined;
        return goTo(context, `${PATHS.approval(approval.run, approval.id)}${query({ as })}`);
      },
      async (problem) => approvalPage({ ...(await opened(context, now())), problem, given: form }),
    );
  });

  app.post(`${APPROVAL}/remind`, async (context) => {
    need(context.get('caller'), OPERATE);
    const [run, id] = [idIn(context), idIn(context, 2)];
    await context.get('desk').remind(run, id);
    return goTo(context, PATHS.approval(run, id));
  });

  app.post(`${APPROVAL}/withdraw`, async (context) => {
    need(context.get('caller'), OPERATE);
    const { why = '' } = await formIn(context);
    const [run, id] = [idIn(context), idIn(context, 2)];
    return tried(
      context,
      async () => {
        await context.get('desk').withdraw(run, id, why);
        return goTo(context, PATHS.approval(run, id));
      },
      async (problem) => approvalPage({ ...(await opened(context, now())), problem }),
    );
  });
}

/** The last of the runs that changed since a moment: one that waits may ask something, one that goes on was answered. */
const changedSince = async (desk: Desk, since: Date) => (await desk.runs({ since, limit: 1 })).runs;

// Lists may be behind: what is written before a page is made may be listed after it.
const OVERLAP_MS = 3000;

const EVERYBODY = 'everybody';

async function inbox({ get, req }: ConsoleContext, now: Date): Promise<InboxView> {
  const [caller, desk] = [get('caller'), get('desk')];
  need(caller, ['approver', 'operator']);
  const as = req.query('as')?.trim() || undefined;
  const { person, groups } = whose(caller, as, groupsIn(req.query('groups')));
  const approvals = person === undefined ? await desk.openApprovals() : await desk.inbox(person, { groups });
  return { caller, person, groups, approvals, since: new Date(now.getTime() - OVERLAP_MS), now };
}

/** Whose inbox a caller sees: an operator all of it, an approver their own, and who answers for others whose they name. */
function whose(caller: Caller, as: string | undefined, groups: readonly string[]) {
  const own = { person: caller.person, groups: caller.groups };
  if (as !== undefined && as !== EVERYBODY && as !== caller.person) {
    if (caller.answersForOthers) return { person: as, groups };
    throw new HttpError(403, 'NOT_ALLOWED', 'This is the inbox of somebody else.');
  }
  if (mayStart(caller) && (as === EVERYBODY || as === undefined)) return { person: undefined, groups: [] };
  if (own.person !== undefined) return own;
  throw new HttpError(403, 'NOT_ALLOWED', 'Only a person has an inbox, and this caller is none.');
}

/** The approval of a path, for those who may see it. */
async function opened(context: ConsoleContext, now: Date): Promise<ApprovalPageOptions> {
  const [caller, desk] = [context.get('caller'), context.get('desk')];
  need(caller, ANYBODY);
  const approval = await desk.approval(idIn(context), idIn(context, 2));
  refuseOthers(caller, approval);
  const as = caller.answersForOthers ? context.req.query('as') : undefined;
  const isOpen = approval.status === 'PENDING' && approval.votes.length === 0;
  // While nobody answered, the page does not tell of the run.
  const run = isOpen ? { status: 'WAITING_FOR_APPROVAL' as const } : await desk.run(approval.run);
  return { caller, approval, run, as, now };
}

/** An approver who may not look at runs sees what they are asked, and nothing else. */
function refuseOthers({ roles, person = '', groups, answersForOthers }: Caller, approval: ApprovalDocument): void {
  if (roles.has('viewer') || roles.has('operator') || answersForOthers) return;
  if (!mayDecide(approval, person, groups)) throw notAnApprover(approval, person);
}

/** The person that a caller is, or names; one who answers for others is taken to know their groups. */
function whoAnswers(caller: Caller, { approvers }: ApprovalDocument, by: string | undefined) {
  if (caller.answersForOthers && by !== undefined) return { by: by.trim(), groups: approvers.filter(isGroup) };
  if (caller.person !== undefined) return { by: caller.person, groups: caller.groups };
  throw new HttpError(403, 'NOT_ALLOWED', 'Only a person can answer, and this caller is none.');
}
