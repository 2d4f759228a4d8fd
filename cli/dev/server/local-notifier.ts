import { PATHS } from '../../../lambda/console/paths.ts';
import { isGroup } from '../../../lambda/core/approval.ts';
import type { Telling } from '../../../lambda/runtime/approvals/due.ts';
import type { Notice } from '../../../lambda/runtime/approvals/notice.ts';
import { bold, dim, styled } from '../../terminal/line.ts';
import { shellQuote } from '../../terminal/shell-quote.ts';
import type { AgentFiles } from '../agents/agent-files.ts';
import type { DevLog } from '../log/dev-log.ts';
import { crashOf } from '../log/run-report.ts';
import { type JobOptions, jobProcess } from '../processes/job-process.ts';
import type { Ended } from '../processes/messages.ts';

export interface LocalTelling extends JobOptions {
  readonly files: Pick<AgentFiles, 'find'>;
}

/** How people hear of approvals on one machine: by the log, and by the agent's own hook where it has one. */
export function tellingOf(options: LocalTelling, agent: string | undefined): Telling | 'unknown' {
  const { files, log, url } = options;
  const found = files.find(agent ?? '');
  if (!found || found.problem) return 'unknown';
  // Who is in a group only the agent knows.
  if (found.tells) return { tell: (notice) => askAgent(options, found.file, notice) };
  return { url: `${url}/approvals/`, tell: async (notice) => tellInLog(log, url, notice) };
}

/** Has the agent itself make links and tell people, in a process of its own. */
async function askAgent(options: LocalTelling, file: string, notice: Notice): Promise<void> {
  const { log, url, timing } = options;
  const { tenant, run, agent, approval } = notice;
  let ended: Ended | undefined;
  const { over } = jobProcess(
    options,
    file,
    { tenant, run, agent },
    (told) => {
      if (told.tell === 'notice') tellInLog(log, url, told.notice);
      if (told.tell === 'ended') ended = told.ended;
    },
    approval,
  );
  const end = await over;
  if (ended?.end === 'told') return;
  const why = ended?.end === 'failed' ? ended.error : `Its process ${crashOf(end, timing.silentMs)}.`;
  throw new Error(`The agent could not tell people of "${approval}"; it is asked again later. ${why}`);
}

const KINDS = { asked: 'asks', reminder: 'reminds', escalation: 'also asks' } as const;

/** What to click, for each person, and what approves from a terminal. */
function tellInLog(log: DevLog, url: string, { run, kind, approval, approvers, title, links }: Notice): void {
  const [first] = links;
  log.run(run, `${KINDS[kind]} ${approvers.join(', ')}: `, bold(title));
  for (const link of links) log.below(`${link.person}  `, styled('underline', link.url));
  if (first) log.below(dim(`or: curl -d answer=approve ${shellQuote(first.url)}`));
  // Without members a group has no links; whoever has the key may answer for one of them.
  const isGroupAlone = approvers.some(isGroup) && links.every(({ person }) => approvers.includes(person));
  if (!first || isGroupAlone) log.below('console  ', styled('underline', `${url}${PATHS.approval(run, approval)}`));
}
