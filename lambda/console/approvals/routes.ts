import type { Hono } from 'hono';
import { isGroup } from '../../core/approval.ts';
import { refused } from '../../core/invalid-input.ts';
import { present } from '../../core/omit-undefined.ts';
import type { Caller } from '../../http/caller.ts';
import type { ApiEnv } from '../../http/request-variables.ts';
import { ANSWER, ASKED, INBOX, may, needAsked, notAllowed, OPERATE, ownAnswer } from '../../http/roles.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { PATHS, query } from '../paths.ts';
import {
  admitted,
  answer,
  type ConsoleContext,
  type ConsoleOptions,
  documentIn,
  formIn,
  goTo,
  groupsIn,
  idIn,
  numberIn,
  OVERLAP_MS,
  tried,
} from '../request.ts';
import { type ApprovalPageOptions, approvalPage } from './approval-page.ts';
import { EVERYBODY, type InboxView, inboxChanges, inboxPage } from './inbox-page.ts';

/** The inbox, and the pages of approvals. */
export function approvalRoutes(app: Hono<ApiEnv>, { runtime, observing }: ConsoleOptions): void {
  const now = () => new Date(runtime.clock.now());

  app.get('/inbox', async (context) => answer(context, inboxPage(await inbox(context, now()))));

  app.get('/inbox/changes', async (context) => {
    const { desk } = admitted(context, INBOX);
    const since = new Date(numberIn(context.req.query('since')) ?? 0);
    // Of any status: a run that waits may ask something, one that goes on was answered.
    const [newest] = (await desk.runs({ since, limit: 1 })).runs;
    if (!newest) return context.body(null, 204);
    return answer(
      context,
      inboxChanges({ ...(await inbox(context, now())), since: new Date(newest.touchedAt.getTime() + 1) }),
    );
  });

  const APPROVAL = '/runs/:run/approvals/:approval';

  app.get(APPROVAL, async (context) => answer(context, approvalPage(await opened(context, now()))));

  app.post(APPROVAL, async (context) => {
    const { caller, desk } = admitted(context, ANSWER);
    const form = await formIn(context);
    return tried(
      context,
      async () => {
        const { approval } = await opened(context, now());
        const { answer: given, comment, shown } = form;
        if (given !== 'approve' && given !== 'reject') throw refused('`answer`', '"approve" or "reject"', given);
        const edits = form.edits === undefined ? undefined : documentIn('What is to be done otherwise', form.edits);
        const who = whoAnswers(caller, approval, form.member ?? form.by);
        await desk.decide(approval.run, {
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
    const { desk } = admitted(context, OPERATE);
    const [run, id] = [idIn(context), idIn(context, 2)];
    await desk.remind(run, id);
    return goTo(context, PATHS.approval(run, id));
  });

  app.post(`${APPROVAL}/withdraw`, async (context) => {
    const { desk } = admitted(context, OPERATE);
    const { why = '' } = await formIn(context);
    const [run, id] = [idIn(context), idIn(context, 2)];
    return tried(
      context,
      async () => {
        await desk.withdraw(run, id, why);
        return goTo(context, PATHS.approval(run, id));
      },
      async (problem) => approvalPage({ ...(await opened(context, now())), problem }),
    );
  });
}

async function inbox(context: ConsoleContext, now: Date): Promise<InboxView> {
  const { caller, desk } = admitted(context, INBOX);
  const { as = '', groups: given } = context.req.query();
  const { person, groups } = whose(caller, as.trim() || undefined, groupsIn(given));
  const approvals = person === undefined ? await desk.openApprovals() : await desk.inbox(person, { groups });
  return { caller, person, groups, approvals, since: new Date(now.getTime() - OVERLAP_MS), now };
}

/** Whose inbox a caller sees: an operator all of it, an approver their own, and who answers for others whose they name. */
function whose(caller: Caller, as: string | undefined, groups: readonly string[]) {
  if (as !== undefined && as !== EVERYBODY && as !== caller.person) {
    if (caller.answersForOthers) return { person: as, groups };
    throw notAllowed('This is the inbox of somebody else. Yours is there without a name.');
  }
  if (may(caller, OPERATE) && (as === undefined || as === EVERYBODY)) return { person: undefined, groups: [] };
  const { by, groups: own } = ownAnswer(caller);
  return { person: by, groups: own };
}

/** The approval of a path, for those who may see it. */
async function opened(context: ConsoleContext, now: Date): Promise<ApprovalPageOptions> {
  const { caller, desk } = admitted(context, ASKED);
  const approval = await desk.approval(idIn(context), idIn(context, 2));
  needAsked(caller, approval);
  const as = caller.answersForOthers ? context.req.query('as') : undefined;
  const isOpen = approval.status === 'PENDING' && approval.votes.length === 0;
  // While nobody answered, the page does not tell of the run.
  const run = isOpen ? { status: 'WAITING_FOR_APPROVAL' as const } : await desk.run(approval.run);
  return { caller, approval, run, again: await desk.askedAgain(approval.run, approval), as, now };
}

/** The person that a caller is, or names; one who answers for others is taken to know their groups. */
function whoAnswers(caller: Caller, { approvers }: ApprovalDocument, by: string | undefined) {
  if (!caller.answersForOthers || by === undefined) return ownAnswer(caller);
  const person = by.trim();
  // Somebody with two names would count twice.
  if (!approvers.includes(person) && !/^user:./.test(person))
    throw refused('Who answers', 'one of those who are asked by name, or "user:" and a name', person);
  return { by: person, groups: approvers.filter(isGroup) };
}
