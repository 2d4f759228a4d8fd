import { PATHS } from '../../../lambda/console/paths.ts';
import { bold, dim, type Line, styled } from '../../terminal/line.ts';
import { shellQuote } from '../../terminal/shell-quote.ts';
import type { LocalServer } from '../server/serve.ts';

/** The URL of the server, printed as soon as it listens. */
export const addressLines = (
  { keyedUrl, folder }: LocalServer,
  shortPath: (path: string) => string,
): readonly Line[] => [
  [bold('Waitstate'), '  ', styled(['cyan', 'underline'], keyedUrl)],
  dim(`           this machine only; runs are stored in ${shortPath(folder)}; Ctrl-C to stop`),
];

// A longer list would push the URL off the screen.
const MAX_AGENTS = 5;

/** Whether agent files were named, and whether they are watched. */
export interface AgentLinesOptions {
  readonly hasFiles: boolean;
  readonly isWatching: boolean;
}

const NO_FILES_NAMED =
  'No agents: name your agent files, such as "waitstate dev ./agents/*.ts". In another language, name a command, such as --exec "python agent.py", or start a worker.';
const noAgentLoads = (isWatching: boolean): string =>
  `No agents loaded. Fix the errors above${isWatching ? '; the files are reloaded when they change.' : ', then start again.'}`;

/** The agents, and how to start a run, printed when the files are loaded. */
export function agentLines(
  { agents, startsAnyAgent, url, key }: LocalServer,
  { hasFiles, isWatching }: AgentLinesOptions,
): readonly Line[] {
  const all = agents();
  if (all.length === 0 && startsAnyAgent()) return [];
  if (all.length === 0) return [styled('yellow', hasFiles ? noAgentLoads(isWatching) : NO_FILES_NAMED)];
  const shown = all.slice(0, all.length > MAX_AGENTS ? MAX_AGENTS - 1 : MAX_AGENTS);
  const width = Math.max(...shown.map(({ name }) => name.length));
  const more = all.length - shown.length;
  const { name, example } = all.find((each) => each.example !== undefined) ?? all[0] ?? { name: '' };
  const body = JSON.stringify({ agent: name, ...(example !== undefined && { input: example }) });
  return [
    ...shown.map((each): Line => ['  ', bold(each.name.padEnd(width)), `  ${each.description ?? ''}`]),
    ...(more > 0 ? [dim(`  and ${more} more`)] : []),
    dim(`Start a run in the console, with "waitstate start ${shellQuote(name)}", or with the API:`),
    `  curl ${url}/api/runs -H 'Authorization: Bearer ${key}' \\`,
    `    -H 'Content-Type: application/json' -d ${shellQuote(body)}`,
  ];
}

/** The number of approvals that are pending since an earlier start. */
export const pendingApprovalLines = (url: string, count: number): readonly Line[] =>
  count === 0
    ? []
    : [
        [
          styled('yellow', `${count === 1 ? '1 approval is' : `${count} approvals are`} pending: `),
          `${url}${PATHS.inbox}`,
        ],
      ];
