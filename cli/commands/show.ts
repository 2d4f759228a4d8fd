import { show as showDoc } from '../../lambda/checkpoints/engine.ts';
import { hasEnded } from '../../lambda/core/status.ts';
import type { ApprovalDocument } from '../../lambda/operator/approval-document.ts';
import type { Operator, RunView, Wait } from '../../lambda/operator/operator.ts';
import { buildTimeline, type Timeline } from '../../lambda/operator/timeline.ts';
import { shortPath } from '../dev/log/dev-log.ts';
import { findErrorLocation } from '../dev/log/error-location.ts';
import type { CodeLocation } from '../dev/log/stack-location.ts';
import type { CommonOptions, Session } from '../session.ts';
import { bold, dim, type Line, styled, toSpans, truncate, wrapText } from '../terminal/line.ts';
import { shellQuote } from '../terminal/shell-quote.ts';
import { statusText } from '../terminal/status-style.ts';
import { formatDuration, formatRelativeTime, formatTime } from '../terminal/times.ts';
import { collectHistory } from './history.ts';
import { approvalLines } from './output/approval-lines.ts';
import { printVerbatim } from './output/print-result.ts';
import { timelineLines } from './output/timeline-lines.ts';

export interface ShowOptions extends CommonOptions {
  readonly all?: boolean;
}

const MAX_CHECKPOINTS = 10_000;
const MAX_ROWS = 30;

/** Draws a run: its facts, its time, and what it asks. */
export async function show(session: Session, run: string, { all = false }: ShowOptions): Promise<void> {
  const { operator } = await session.openTarget();
  const { terminal } = session;
  const view = await operator.run(run);
  const timeline = await readTimeline(operator, view, terminal.now(), all);
  const approvals = await Promise.all(view.openApprovals.map((id) => operator.approval(run, id)));
  const value = { ...view, timeline, approvals };
  const errorLocation = view.error && view.status !== 'CANCELLED' ? await findErrorLocation(operator, run) : undefined;
  const details = { ...value, waits: currentWaits(view), place: errorLocation };
  await printVerbatim(session, value, () =>
    runLines(details, terminal.columns, terminal.now(), all ? Infinity : MAX_ROWS),
  );
}

/** What a run still waits for: one that was answered, or has ended, is only not told yet. */
function currentWaits({ status, waits, openApprovals }: RunView): readonly Wait[] {
  if (hasEnded(status)) return [];
  return waits.filter(({ kind, name }) => (kind === 'approval' ? openApprovals.includes(name) : status !== 'READY'));
}

async function readTimeline(
  operator: Operator,
  { run, status, isDurable }: RunView,
  now: number,
  all: boolean,
): Promise<Timeline> {
  const limit = all ? Infinity : MAX_CHECKPOINTS;
  const { checkpoints } = await collectHistory(operator, run, { newestFirst: true }, limit);
  // Nobody knows whether a program of its own still works on a run.
  const isActive = !hasEnded(status) && (isDurable || status !== 'RUNNING');
  return buildTimeline(checkpoints.toReversed(), isActive ? new Date(now) : undefined);
}

interface RunDetails extends RunView {
  readonly timeline: Timeline;
  readonly approvals: readonly ApprovalDocument[];
  /** Where its error came up. */
  readonly errorLocation: CodeLocation | undefined;
}

function runLines(view: RunDetails, columns: number, now: number, maxRows: number): readonly Line[] {
  const { run, status, timeline, approvals } = view;
  const [first] = timeline.spans;
  const last = timeline.spans.at(-1);
  const span = first && last ? formatDuration(last.to.getTime() - first.from.getTime()) : '';
  return [
    truncate([bold(run), '  ', statusText(status)], columns),
    ...factLines(view, columns, now),
    '',
    truncate(
      [bold('Timeline'), dim(`  ${first ? formatTime(first.from) : ''}, ${span}${hasEnded(status) ? '' : ' so far'}`)],
      columns,
    ),
    ...timelineLines(timeline, columns, maxRows),
    ...approvals.flatMap((approval) => ['', ...approvalLines(approval, columns, now)]),
    ...adviceLines(view),
  ];
}

function factLines(view: RunDetails, columns: number, now: number): readonly Line[] {
  const { version, stepNumber, step, agent, owner, tags, createdAt, touchedAt, parent, lease, deadline, parked } = view;
  const { status, input, result, error, errorLocation, waits, encrypted, shredded, retentionSeconds } = view;
  const facts: readonly (readonly [string, Line | undefined])[] = [
    ['agent', agent],
    ['owner', owner],
    ['tags', tags.length > 0 ? tags.join(' ') : undefined],
    ['version', `${version}${step === undefined ? '' : `, step ${stepNumber} "${step}"`}`],
    [
      'started',
      `${formatRelativeTime(createdAt, now)}${touchedAt > createdAt ? `, touched ${formatRelativeTime(touchedAt, now)}` : ''}`,
    ],
    ['comes from', parent && `${parent.run} version ${parent.version}`],
    ['runs in', lease && `${lease.by}, until ${formatRelativeTime(lease.until, now)}`],
    ['times out', deadline && formatRelativeTime(deadline, now)],
    [
      'kept',
      retentionSeconds === undefined ? undefined : `${formatDuration(retentionSeconds * 1000)} after its last write`,
    ],
    ['encrypted', shredded ? styled('red', 'its key was destroyed') : encrypted ? 'yes' : undefined],
    ['input', input === undefined || input === null ? undefined : showDoc(input)],
    ...waits.map((wait): readonly [string, Line] => ['waits for', waitText(wait, now)]),
    ['result', result === undefined ? undefined : styled('green', showDoc(result))],
  ];
  return [
    ...facts.flatMap(([name, text]) =>
      text === undefined ? [] : [truncate([dim(`  ${name.padEnd(11)}`), ...toSpans(text)], columns)],
    ),
    ...longFactLines('parked', parked, columns),
    ...longFactLines(status === 'CANCELLED' ? 'because' : 'error', error && errorText(error), columns),
    ...longFactLines('in', errorLocation && `${shortPath(errorLocation.file)}:${errorLocation.line}`, columns),
    ...longFactLines('failed at', error?.failedAt.join(', '), columns),
    ...longFactLines('not undone', error?.notUndone.join('; '), columns),
  ];
}

/** The name of our own errors says nothing that their message does not. */
const errorText = ({ name, message }: NonNullable<RunView['error']>): string =>
  name === 'WaitstateError' ? message : `${name}: ${message}`;

/** What people must read as a whole. */
function longFactLines(name: string, text: string | undefined, columns: number): readonly Line[] {
  if (text === undefined || text === '') return [];
  return wrapText(text, Math.min(columns, 100) - 13).map((line, i) => [
    dim(`  ${(i === 0 ? name : '').padEnd(11)}`),
    styled('red', line),
  ]);
}

function waitText({ kind, name, until }: Wait, now: number): Line {
  const end = until ? `, until ${formatRelativeTime(until, now)}` : '';
  switch (kind) {
    case 'approval':
      return styled('yellow', `approval ${name}${end}`);
    case 'signal':
      return styled('yellow', `signal ${name}${end}`);
    case 'sleep':
      return `${name}${until ? `, which ends ${formatRelativeTime(until, now)}` : ''}`;
    case 'call':
      return `run ${name}`;
    case 'retry':
      return `${name} again${until ? ` ${formatRelativeTime(until, now)}` : ''}`;
  }
}

/** What can be done about it. */
function adviceLines({ run, status, waits }: RunDetails): readonly Line[] {
  const signal = waits.find(({ kind }) => kind === 'signal');
  if (signal) return ['', dim(`  waitstate signal ${shellQuote(run)} ${shellQuote(signal.name)} '…'`)];
  return status === 'FAILED' ? ['', dim(`  waitstate retry ${shellQuote(run)}`)] : [];
}
