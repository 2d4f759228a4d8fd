import { PATHS } from '../../../lambda/console/paths.ts';
import { isGroup } from '../../../lambda/core/approval.ts';
import type { Notifier } from '../../../lambda/runtime/approvals/due.ts';
import type { ApprovalNotification } from '../../../lambda/runtime/definition/approval-notification.ts';
import { bold, dim, styled } from '../../terminal/line.ts';
import { shellQuote } from '../../terminal/shell-quote.ts';
import type { AgentCommands } from '../agents/agent-commands.ts';
import type { AgentFiles } from '../agents/agent-files.ts';
import type { DevLog } from '../log/dev-log.ts';
import { describeCrash } from '../log/run-report.ts';
import { type JobOptions, startJobProcess } from '../processes/job-process.ts';
import type { InvocationReport } from '../processes/messages.ts';
import type { WorkerAgents } from './worker-agents.ts';

export interface LocalNotifierOptions extends JobOptions {
  readonly files: Pick<AgentFiles, 'find'>;
  readonly commands: Pick<AgentCommands, 'find'>;
  readonly workers: Pick<WorkerAgents, 'has'>;
}

/** Notifies approvers on one machine: in the log, and through the agent's `notify` hook if it has one. */
export function notifierFor(options: LocalNotifierOptions, agent: string | undefined): Notifier | 'unknown' {
  const { files, commands, workers, log, url } = options;
  const found = files.find(agent ?? '');
  const command = found ? undefined : commands.find(agent ?? '');
  if (found ? found.problem : !command && !workers.has(agent ?? '')) return 'unknown';
  // Only the agent knows the members of a group.
  if (found?.hasNotifyHook) return { notify: (notification) => notifyThroughAgent(options, found.file, notification) };
  return {
    url: `${url}/approvals/`,
    async notify(notification) {
      logNotification(log, url, notification);
      if (command?.notifies) await notifyThroughCommand(options, command.command, notification);
    },
  };
}

/** Starts the command of an agent in another language, which notifies the approvers. */
async function notifyThroughCommand(
  { processes, log, timing }: LocalNotifierOptions,
  command: string,
  notification: ApprovalNotification,
): Promise<void> {
  const { tenant, run, agent, approval } = notification;
  const { exited } = processes.startCommand({
    command,
    input: { waitstate: 1, tenant, run, agent, notify: notification },
    timeoutMs: timing.notifyTimeoutMs,
    onOutput: (line) => log.output(run, line),
  });
  const exit = await exited;
  if (exit.code === 0) return;
  throw notifyFailed(approval, `Its process ${describeCrash(exit, timing.heartbeatTimeoutMs)}.`);
}

const notifyFailed = (approval: string, why: string): Error =>
  new Error(`The notify hook failed for approval "${approval}" and will be retried. ${why}`);

/** Has the agent create the links and notify the approvers, in a separate process. */
async function notifyThroughAgent(
  options: LocalNotifierOptions,
  file: string,
  notification: ApprovalNotification,
): Promise<void> {
  const { log, url, timing } = options;
  const { tenant, run, agent, approval } = notification;
  let ended: InvocationReport | undefined;
  const { exited } = startJobProcess(
    options,
    file,
    { tenant, run, agent },
    (message) => {
      if (message.waitstate === 'notification') logNotification(log, url, message.notification);
      if (message.waitstate === 'ended') ended = message.ended;
    },
    approval,
  );
  const exit = await exited;
  if (ended?.end === 'notified') return;
  const why = ended?.end === 'failed' ? ended.error : `Its process ${describeCrash(exit, timing.heartbeatTimeoutMs)}.`;
  throw notifyFailed(approval, why);
}

const NOTIFICATION_VERBS = {
  requested: 'asks',
  proposed: 'has changes for',
  reminder: 'reminds',
  escalated: 'escalates to',
} as const;

/** Logs an approval link for each person, and a command that approves or answers. */
function logNotification(
  log: DevLog,
  url: string,
  { run, kind, approval, approvers, title, links, isQuestion }: ApprovalNotification,
): void {
  const [first] = links;
  log.run(run, `${NOTIFICATION_VERBS[kind]} ${approvers.join(', ')}: `, bold(title));
  for (const link of links) log.detail(`${link.person}  `, styled('underline', link.url));
  if (first) log.detail(dim(`or: curl -d ${isQuestion ? "value='…'" : 'answer=approve'} ${shellQuote(first.url)}`));
  // Without members, a group has no links; in the console, you can decide for its members.
  const isGroupAlone = approvers.some(isGroup) && links.every(({ person }) => approvers.includes(person));
  if (!first || isGroupAlone) log.detail('console  ', styled('underline', `${url}${PATHS.approval(run, approval)}`));
}
