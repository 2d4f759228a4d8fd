import { PATHS } from '../../../lambda/console/paths.ts';
import { isGroup } from '../../../lambda/core/approval.ts';
import type { Notifier } from '../../../lambda/runtime/approvals/due.ts';
import type { ApprovalNotification } from '../../../lambda/runtime/definition/approval-notification.ts';
import { bold, dim, styled } from '../../terminal/line.ts';
import { shellQuote } from '../../terminal/shell-quote.ts';
import type { AgentFiles } from '../agents/agent-files.ts';
import type { DevLog } from '../log/dev-log.ts';
import { describeCrash } from '../log/run-report.ts';
import { type JobOptions, startJobProcess } from '../processes/job-process.ts';
import type { InvocationReport } from '../processes/messages.ts';

export interface LocalNotifierOptions extends JobOptions {
  readonly files: Pick<AgentFiles, 'find'>;
}

/** How people hear of approvals on one machine: by the log, and by the agent's own hook where it has one. */
export function notifierFor(options: LocalNotifierOptions, agent: string | undefined): Notifier | 'unknown' {
  const { files, log, url } = options;
  const found = files.find(agent ?? '');
  if (!found || found.problem) return 'unknown';
  // Who is in a group only the agent knows.
  if (found.hasNotifyHook) return { notify: (notice) => notifyThroughAgent(options, found.file, notice) };
  return { url: `${url}/approvals/`, notify: async (notice) => logNotice(log, url, notice) };
}

/** Has the agent itself make links and tell people, in a process of its own. */
async function notifyThroughAgent(
  options: LocalNotifierOptions,
  file: string,
  notice: ApprovalNotification,
): Promise<void> {
  const { log, url, timing } = options;
  const { tenant, run, agent, approval } = notice;
  let ended: InvocationReport | undefined;
  const { exited: over } = startJobProcess(
    options,
    file,
    { tenant, run, agent },
    (told) => {
      if (told.tell === 'notice') logNotice(log, url, told.notice);
      if (told.tell === 'ended') ended = told.ended;
    },
    approval,
  );
  const end = await over;
  if (ended?.end === 'told') return;
  const why = ended?.end === 'failed' ? ended.error : `Its process ${describeCrash(end, timing.heartbeatTimeoutMs)}.`;
  throw new Error(`The agent could not tell people of "${approval}"; it is asked again later. ${why}`);
}

const NOTICE_VERBS = { asked: 'asks', reminder: 'reminds', escalation: 'also asks' } as const;

/** What to click, for each person, and what approves from a terminal. */
function logNotice(
  log: DevLog,
  url: string,
  { run, kind, approval, approvers, title, links }: ApprovalNotification,
): void {
  const [first] = links;
  log.run(run, `${NOTICE_VERBS[kind]} ${approvers.join(', ')}: `, bold(title));
  for (const link of links) log.detail(`${link.person}  `, styled('underline', link.url));
  if (first) log.detail(dim(`or: curl -d answer=approve ${shellQuote(first.url)}`));
  // Without members a group has no links; whoever has the key may answer for one of them.
  const isGroupAlone = approvers.some(isGroup) && links.every(({ person }) => approvers.includes(person));
  if (!first || isGroupAlone) log.detail('console  ', styled('underline', `${url}${PATHS.approval(run, approval)}`));
}
