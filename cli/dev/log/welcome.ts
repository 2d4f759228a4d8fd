import { PATHS } from '../../../lambda/console/paths.ts';
import { bold, dim, type Line, styled } from '../../terminal/line.ts';
import { shellQuote } from '../../terminal/shell-quote.ts';
import type { LocalServer } from '../server/serve.ts';

/** What to click: said as soon as the server answers. */
export const addressLines = (
  { keyedUrl, folder }: LocalServer,
  shortPath: (path: string) => string,
): readonly Line[] => [
  [bold('Waitstate'), '  ', styled(['cyan', 'underline'], keyedUrl)],
  dim(`           this machine only; runs are in ${shortPath(folder)}; Ctrl-C stops`),
];

// More would push what to click off the screen.
const MAX_AGENTS = 5;

/** Whether files of agents were named, and are watched. */
export interface AgentLinesOptions {
  readonly hasFiles: boolean;
  readonly isWatching: boolean;
}

const NO_FILES_NAMED = 'No agent is here: name files of agents, such as waitstate dev ./agents/*.ts';
const noAgentLoads = (isWatching: boolean): string =>
  `No agent is here yet: mend the files above${isWatching ? ', which are looked at again when they change.' : ' and start again.'}`;

/** Who is there, and what to try: said as soon as that is known. */
export function agentLines(
  { agents, url, key }: LocalServer,
  { hasFiles, isWatching }: AgentLinesOptions,
): readonly Line[] {
  const all = agents();
  if (all.length === 0) return [styled('yellow', hasFiles ? noAgentLoads(isWatching) : NO_FILES_NAMED)];
  const shown = all.slice(0, all.length > MAX_AGENTS ? MAX_AGENTS - 1 : MAX_AGENTS);
  const width = Math.max(...shown.map(({ name }) => name.length));
  const more = all.length - shown.length;
  const { name, example } = all.find((each) => each.example !== undefined) ?? all[0] ?? { name: '' };
  const body = JSON.stringify({ agent: name, ...(example !== undefined && { input: example }) });
  return [
    ...shown.map((each): Line => ['  ', bold(each.name.padEnd(width)), `  ${each.description ?? ''}`]),
    ...(more > 0 ? [dim(`  and ${more} more`)] : []),
    dim(`Start a run in the console, by "waitstate start ${shellQuote(name)}" ("waitstate --help" says more), or so:`),
    `  curl ${url}/api/runs -H 'Authorization: Bearer ${key}' \\`,
    `    -H 'Content-Type: application/json' -d ${shellQuote(body)}`,
  ];
}

/** What waits for people since an earlier time. */
export const pendingApprovalLines = (url: string, count: number): readonly Line[] =>
  count === 0
    ? []
    : [
        [
          styled('yellow', `${count === 1 ? 'An approval waits' : `${count} approvals wait`} for an answer: `),
          `${url}${PATHS.inbox}`,
        ],
      ];
