import type { CheckpointSummary } from '../../lambda/checkpoints/engine.ts';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import type { HistoryQuery, Operator } from '../../lambda/operator/operator.ts';
import { buildTimeline } from '../../lambda/operator/timeline.ts';
import { FAILED_LABEL } from '../../lambda/runtime/journal/checkpoint-labels.ts';
import type { CommonOptions, Session } from '../session.ts';
import { dim, styled } from '../terminal/line.ts';
import { statusText } from '../terminal/status-style.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { formatRelativeTime } from '../terminal/times.ts';
import { pluralize, printList } from './output/print-result.ts';
import { spanLabel } from './output/timeline-lines.ts';

export interface HistoryOptions extends CommonOptions {
  readonly from?: number;
  readonly to?: number;
  readonly limit?: number;
  readonly all?: boolean;
  readonly find?: string;
}

const DEFAULT_LIMIT = 50;
const PAGE_SIZE = 1000;

/** Lists the checkpoints of a run, oldest first. */
export async function history(session: Session, run: string, options: HistoryOptions): Promise<void> {
  const { operator } = await session.openTarget();
  if (options.find !== undefined) return findInHistory(session, operator, run, options.find, options);
  const { from, to } = options;
  const limit = options.all ? Infinity : (options.limit ?? DEFAULT_LIMIT);
  // With --from, the first checkpoints after that version; otherwise the newest ones.
  const newestFirst = from === undefined;
  // Read one more checkpoint before the first: the label of a checkpoint depends on its predecessor.
  const query = { newestFirst, ...omitUndefined({ from: from === undefined ? from : Math.max(1, from - 1), to }) };
  const before = newestFirst || from > 1 ? 1 : 0;
  const read = await collectHistory(operator, run, query, limit + before);
  const inOrder = newestFirst ? read.checkpoints.toReversed() : read.checkpoints;
  const isExtra = newestFirst ? inOrder.length > limit : before > 0;
  const found = isExtra ? inOrder.slice(1) : inOrder;
  const hasMore = read.hasMore || (newestFirst && isExtra);
  const labels = new Map(buildTimeline(inOrder).spans.map((each) => [each.checkpoint?.version, spanLabel(each)]));
  const { terminal, isJson } = session;
  const earlier = hasMore && newestFirst ? (found[0]?.version ?? 1) - 1 : 0;
  if (earlier > 0 && !isJson)
    terminal.printErr(dim(`${pluralize(earlier, 'earlier checkpoint')} not shown. Use --all, or --from VERSION.`));
  await printList(session, found, () => formatTable(columns(terminal.now(), labels), found, terminal.columns));
  const [last] = found.slice(-1);
  if (hasMore && !newestFirst && !isJson && last)
    terminal.printErr(dim(`There are more. Use --from ${last.version + 1}.`));
}

/** Lists the checkpoints whose entry in the timeline has a text; one search reads a thousand of them. */
async function findInHistory(
  session: Session,
  operator: Operator,
  run: string,
  find: string,
  { to, limit = DEFAULT_LIMIT }: HistoryOptions,
): Promise<void> {
  const { terminal, isJson } = session;
  const { spans, first, last, next } = await operator.timeline(run, { find, limit, ...omitUndefined({ to }) });
  const found = new Map(spans.flatMap(({ checkpoint }) => (checkpoint ? [[checkpoint.version, checkpoint]] : [])));
  const labels = new Map(spans.map((span) => [span.checkpoint?.version, spanLabel(span)]));
  const checkpoints = [...found.values()];
  await printList(session, checkpoints, () =>
    formatTable(columns(terminal.now(), labels), checkpoints, terminal.columns),
  );
  if (isJson) return;
  const older = next === undefined ? '' : ` Use --to ${next} to search older ones.`;
  terminal.printErr(dim(`Searched checkpoints ${first} to ${last}.${older}`));
}

/** Reads up to `limit` checkpoints, page by page, in the order of the query. */
export async function collectHistory(
  operator: Operator,
  run: string,
  query: HistoryQuery,
  limit: number,
  onProgress: (count: number) => void = () => {},
): Promise<{ readonly checkpoints: readonly CheckpointSummary[]; readonly hasMore: boolean }> {
  const checkpoints: CheckpointSummary[] = [];
  let next: number | undefined;
  do {
    const on = next === undefined ? {} : { [query.newestFirst ? 'to' : 'from']: next };
    const page = await operator.history(run, {
      ...query,
      ...on,
      limit: Math.min(limit - checkpoints.length, PAGE_SIZE),
    });
    checkpoints.push(...page.checkpoints);
    onProgress(checkpoints.length);
    next = page.next;
  } while (next !== undefined && checkpoints.length < limit);
  return { checkpoints, hasMore: next !== undefined };
}

/** The labels of checkpoints by version, as in the timeline. */
type CheckpointLabels = ReadonlyMap<number | undefined, string>;

/** The newest version of a run; works without its key. */
export async function newestVersion(operator: Operator, run: string): Promise<number> {
  const { checkpoints } = await operator.history(run, { newestFirst: true, limit: 1 });
  return checkpoints[0]?.version ?? 0;
}

const columns = (now: number, labels: CheckpointLabels): readonly Column<CheckpointSummary>[] => [
  { title: 'V', cell: ({ version }) => String(version), align: 'right' },
  {
    title: 'STEP',
    cell: (checkpoint) => stepCell(checkpoint, labels.get(checkpoint.version) ?? checkpoint.kind),
    minWidth: 10,
  },
  { title: 'STATUS', cell: ({ status }) => statusText(status), dropPriority: 2 },
  { title: 'NAME', cell: ({ name = '' }) => name, minWidth: 6, dropPriority: 3 },
  { title: 'WRITER', cell: ({ writer }) => writer, minWidth: 8, dropPriority: 4 },
  {
    title: 'BYTES',
    cell: ({ bytes, pruned }) => (pruned ? '' : bytes.toLocaleString('en')),
    align: 'right',
    dropPriority: 5,
  },
  { title: 'SAVED', cell: ({ savedAt }) => formatRelativeTime(savedAt, now), align: 'right', dropPriority: 1 },
];

/** The step that a checkpoint records, or another label. */
function stepCell({ step, pruned, restored, labels }: CheckpointSummary, label: string) {
  if (pruned) return dim(`${label} (pruned)`);
  if (labels[FAILED_LABEL] !== undefined) return styled('yellow', label);
  return step === undefined || label !== step ? dim(restored === undefined ? label : `${label} to ${restored}`) : step;
}
