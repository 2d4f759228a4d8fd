import type { RunSummary } from '../../lambda/checkpoints/checkpoint.ts';
import { present } from '../../lambda/core/omit-undefined.ts';
import { STATUSES, type Status } from '../../lambda/core/status.ts';
import type { Desk, RunsPage, RunsQuery } from '../../lambda/operator/operator.ts';
import type { Located, Session } from '../session.ts';
import { dim, type Line } from '../terminal/line.ts';
import { statusText } from '../terminal/status-style.ts';
import { type Column, table } from '../terminal/table.ts';
import { relative } from '../terminal/times.ts';
import { answerAsIs, answerEach } from './output/print-result.ts';

export interface RunsOptions extends Located {
  readonly status?: readonly Status[];
  readonly agent?: string;
  readonly owner?: string;
  readonly tag?: string;
  readonly id?: string;
  readonly since?: Date;
  readonly until?: Date;
  readonly limit?: number;
  readonly all?: boolean;
  readonly count?: boolean;
}

const FEW = 20;

/** Lists runs, or counts them. */
export async function runs(session: Session, options: RunsOptions): Promise<void> {
  const { desk } = await session.open();
  if (options.count) return countRuns(session, desk);
  const { status, agent, owner, tag, id, since, until } = options;
  const query = present({ status, agent, owner, tag, id, since, until });
  const limit = options.all ? Infinity : (options.limit ?? FEW);
  const { terminal, isJson } = session;
  if (isJson) {
    for await (const { runs } of pagesOf(desk, query, limit)) await answerEach(session, runs, () => []);
    return;
  }
  const { found, isMore } = await collect(desk, query, limit);
  if (found.length === 0) terminal.tell(dim('No runs fit.'));
  else terminal.say(...table(columns(terminal.now()), found, terminal.columns));
  if (isMore) terminal.tell(dim(`There are more: --limit ${limit * 5}, or --all.`));
}

/** As many runs as are asked for, page by page. */
async function* pagesOf(desk: Desk, query: RunsQuery, limit: number): AsyncGenerator<RunsPage> {
  let cursor: string | undefined;
  let left = limit;
  do {
    const page = await desk.runs({ ...query, limit: Math.min(left, 100), ...present({ cursor }) });
    yield page;
    left -= page.runs.length;
    cursor = page.cursor;
  } while (cursor !== undefined && left > 0);
}

/** All of them at once, and whether there are more. */
export async function collect(
  desk: Desk,
  query: RunsQuery,
  limit: number,
): Promise<{ readonly found: readonly RunSummary[]; readonly isMore: boolean }> {
  const pages = await Array.fromAsync(pagesOf(desk, query, limit));
  return { found: pages.flatMap(({ runs }) => runs), isMore: pages.at(-1)?.cursor !== undefined };
}

const columns = (now: number): readonly Column<RunSummary>[] => [
  { title: 'RUN', cell: ({ run }) => run, least: 16 },
  { title: 'STATUS', cell: ({ status }) => statusText(status) },
  { title: 'AGENT', cell: ({ agent = '' }) => agent, least: 6, leaveOut: 2 },
  { title: 'STEP', cell: ({ statusChange }) => statusChange.step ?? '', least: 8, leaveOut: 3 },
  { title: 'OWNER', cell: ({ owner = '' }) => owner, least: 6, leaveOut: 4 },
  { title: 'TAGS', cell: ({ tags }) => tags.join(' '), least: 6, leaveOut: 5 },
  { title: 'TOUCHED', cell: ({ touchedAt }) => relative(touchedAt, now), align: 'right', leaveOut: 1 },
];

async function countRuns(session: Session, desk: Desk): Promise<void> {
  const counts = await desk.counts();
  const lines = (): readonly Line[] =>
    table(
      [
        { title: 'STATUS', cell: (status: Status) => statusText(status) },
        {
          title: 'RUNS',
          align: 'right',
          cell: (status) => `${counts[status].count.toLocaleString('en')}${counts[status].isMore ? '+' : ''}`,
        },
      ],
      STATUSES,
      session.terminal.columns,
    );
  await answerAsIs(session, counts, lines);
}
