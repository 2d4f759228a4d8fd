import type { RunSummary } from '../../lambda/checkpoints/checkpoint.ts';
import { present } from '../../lambda/core/present.ts';
import { STATUSES, type Status } from '../../lambda/core/status.ts';
import type { Desk, RunsQuery } from '../../lambda/desk/desk.ts';
import type { Located, Session } from '../session.ts';
import { dim, type Line } from '../terminal/line.ts';
import { statusText } from '../terminal/status-style.ts';
import { type Column, table } from '../terminal/table.ts';
import { relative } from '../terminal/times.ts';
import { answerAsIs, answerEach } from './answer.ts';

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
  const limit = options.all ? Infinity : (options.limit ?? FEW);
  const { found, isMore } = await collect(desk, present({ status, agent, owner, tag, id, since, until }), limit);
  const { terminal } = session;
  await answerEach(session, found, () =>
    found.length === 0 ? [] : table(columns(terminal.now()), found, terminal.columns),
  );
  if (session.isJson) return;
  if (found.length === 0) terminal.tell(dim('No runs fit.'));
  if (isMore) terminal.tell(dim(`There are more: --limit ${limit * 5}, or --all.`));
}

/** As many runs as are asked for, page by page. */
export async function collect(
  desk: Desk,
  query: RunsQuery,
  limit: number,
): Promise<{ readonly found: readonly RunSummary[]; readonly isMore: boolean }> {
  const found: RunSummary[] = [];
  let cursor: string | undefined;
  do {
    const page = await desk.runs({ ...query, limit: Math.min(limit - found.length, 100), ...present({ cursor }) });
    found.push(...page.runs);
    cursor = page.cursor;
  } while (cursor !== undefined && found.length < limit);
  return { found, isMore: cursor !== undefined };
}

const columns = (now: number): readonly Column<RunSummary>[] => [
  { title: 'RUN', cell: ({ run }) => run, least: 16 },
  { title: 'STATUS', cell: ({ status }) => statusText(status), least: 9, showsEnd: true },
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
