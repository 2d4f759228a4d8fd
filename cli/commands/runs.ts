import type { RunSummary } from '../../lambda/checkpoints/engine.ts';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import { STATUSES, type Status } from '../../lambda/core/status.ts';
import { describeRun } from '../../lambda/operator/describe-run.ts';
import type { Operator, RunsPage, RunsQuery } from '../../lambda/operator/operator.ts';
import type { CommonOptions, Session } from '../session.ts';
import { dim, type Line } from '../terminal/line.ts';
import { statusText } from '../terminal/status-style.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { formatRelativeTime } from '../terminal/times.ts';
import { printList, printVerbatim } from './output/print-result.ts';

export interface RunsOptions extends CommonOptions {
  readonly status?: readonly Status[];
  readonly agent?: string;
  readonly owner?: string;
  readonly tag?: string;
  readonly step?: string | number;
  readonly id?: string;
  readonly since?: Date;
  readonly until?: Date;
  readonly limit?: number;
  readonly all?: boolean;
  readonly count?: boolean;
}

const DEFAULT_LIMIT = 20;

/** Lists runs, or counts them. */
export async function runs(session: Session, options: RunsOptions): Promise<void> {
  const { operator } = await session.openTarget();
  if (options.count) return countRuns(session, operator);
  const { status, agent, owner, tag, step, id, since, until } = options;
  const query = omitUndefined({ status, agent, owner, tag, step, id, since, until });
  const limit = options.all ? Infinity : (options.limit ?? DEFAULT_LIMIT);
  const { terminal, isJson } = session;
  if (isJson) {
    for await (const { runs } of runPages(operator, query, limit)) await printList(session, runs, () => []);
    return;
  }
  const { found, hasMore } = await collectRuns(operator, query, limit);
  if (found.length === 0) terminal.printErr(dim('No runs found.'));
  else terminal.print(...formatTable(columns(terminal.now()), found, terminal.columns));
  if (hasMore) terminal.printErr(dim(`There are more. Use --limit ${limit * 5}, or --all.`));
}

/** Reads up to `limit` runs, page by page. */
async function* runPages(operator: Operator, query: RunsQuery, limit: number): AsyncGenerator<RunsPage> {
  let cursor: string | undefined;
  let left = limit;
  do {
    const page = await operator.runs({ ...query, limit: Math.min(left, 100), ...omitUndefined({ cursor }) });
    yield page;
    left -= page.runs.length;
    cursor = page.cursor;
  } while (cursor !== undefined && left > 0);
}

/** Reads up to `limit` runs, and says whether there are more. */
export async function collectRuns(
  operator: Operator,
  query: RunsQuery,
  limit: number,
): Promise<{ readonly found: readonly RunSummary[]; readonly hasMore: boolean }> {
  const pages = await Array.fromAsync(runPages(operator, query, limit));
  return { found: pages.flatMap(({ runs }) => runs), hasMore: pages.at(-1)?.cursor !== undefined };
}

const columns = (now: number): readonly Column<RunSummary>[] => [
  { title: 'RUN', cell: ({ run }) => run, minWidth: 16 },
  { title: 'STATUS', cell: ({ status }) => statusText(status) },
  { title: 'AGENT', cell: ({ agent = '' }) => agent, minWidth: 6, dropPriority: 2 },
  { title: 'DETAILS', cell: (run) => describeRun(run), minWidth: 12, dropPriority: 3 },
  { title: 'OWNER', cell: ({ owner = '' }) => owner, minWidth: 6, dropPriority: 4 },
  { title: 'TAGS', cell: ({ tags }) => tags.join(' '), minWidth: 6, dropPriority: 5 },
  { title: 'UPDATED', cell: ({ updatedAt }) => formatRelativeTime(updatedAt, now), align: 'right', dropPriority: 1 },
];

async function countRuns(session: Session, operator: Operator): Promise<void> {
  const counts = await operator.counts();
  const lines = (): readonly Line[] =>
    formatTable(
      [
        { title: 'STATUS', cell: (status: Status) => statusText(status) },
        {
          title: 'RUNS',
          align: 'right',
          cell: (status) => `${counts[status].count.toLocaleString('en')}${counts[status].hasMore ? '+' : ''}`,
        },
      ],
      STATUSES,
      session.terminal.columns,
    );
  await printVerbatim(session, counts, lines);
}
