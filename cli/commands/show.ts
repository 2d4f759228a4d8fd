import { show as showDoc } from '../../lambda/checkpoints/documents.ts';
import { toMilliseconds } from '../../lambda/core/duration.ts';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import { hasEnded } from '../../lambda/core/status.ts';
import type { ApprovalDocument } from '../../lambda/operator/approval-document.ts';
import { describeRefusal } from '../../lambda/operator/describe-run.ts';
import { explainReady } from '../../lambda/operator/explain-ready.ts';
import { explainRetry } from '../../lambda/operator/explain-retry.ts';
import type { ErrorCause, Operator, RunView, Wait } from '../../lambda/operator/operator.ts';
import type { TimelinePage } from '../../lambda/operator/timeline-page.ts';
import { shortPath } from '../dev/log/dev-log.ts';
import { findErrorLocation } from '../dev/log/error-location.ts';
import type { CodeLocation } from '../dev/log/stack-location.ts';
import type { CommonOptions, Session } from '../session.ts';
import { bold, dim, type Line, styled, toSpans, truncate, wrapText } from '../terminal/line.ts';
import { shellQuote } from '../terminal/shell-quote.ts';
import { statusText } from '../terminal/status-style.ts';
import { formatDuration, formatRelativeTime, formatTime } from '../terminal/times.ts';
import { approvalLines } from './output/approval-lines.ts';
import { printVerbatim } from './output/print-result.ts';
import { timelineLines } from './output/timeline-lines.ts';
import { warnIfNoServer } from './output/warn-if-no-server.ts';

export interface ShowOptions extends CommonOptions {
  readonly all?: boolean;
}

const PAGE_SIZE = 1000;
const MAX_ROWS = 30;

/** Shows a run: its details, its timeline and its pending approvals. */
export async function show(session: Session, run: string, { all = false }: ShowOptions): Promise<void> {
  const target = await session.openTarget();
  const { operator } = target;
  const { terminal } = session;
  const view = await operator.run(run);
  const timeline = await readTimeline(operator, run, new Date(terminal.now()), all);
  const approvals = await Promise.all(view.pendingApprovals.map((id) => operator.approval(run, id)));
  const errorLocation = view.error && view.status !== 'CANCELLED' ? await findErrorLocation(operator, run) : undefined;
  const details = { ...view, timeline, approvals, waits: currentWaits(view), errorLocation };
  const ready = omitUndefined({ ready: explainReady(view) });
  await printVerbatim(session, { ...view, ...ready, timeline, approvals }, () =>
    runLines(details, terminal.columns, terminal.now(), all ? Infinity : MAX_ROWS),
  );
  if (view.status === 'READY') await warnIfNoServer(session, target, view.agent);
}

/** What a run still waits for; a decided approval is listed in `waits` until the run resumes. */
function currentWaits({ status, waits, pendingApprovals }: RunView): readonly Wait[] {
  if (hasEnded(status)) return [];
  return waits.filter(({ kind, name }) => (kind === 'approval' ? pendingApprovals.includes(name) : status !== 'READY'));
}

/** The newest part of a timeline; with --all, all of it. */
async function readTimeline(operator: Operator, run: string, now: Date, all: boolean): Promise<TimelinePage> {
  let page = await operator.timeline(run, { now, limit: all ? PAGE_SIZE : MAX_ROWS });
  while (all && page.next !== undefined) {
    const { spans, first, next } = await operator.timeline(run, { now, to: page.next, limit: PAGE_SIZE });
    const { next: _, ...newer } = page;
    page = { ...newer, spans: [...spans, ...page.spans], first, ...omitUndefined({ next }) };
  }
  return page;
}

interface RunDetails extends RunView {
  readonly timeline: TimelinePage;
  readonly approvals: readonly ApprovalDocument[];
  /** Where in the agent's code the error was thrown. */
  readonly errorLocation: CodeLocation | undefined;
}

function runLines(view: RunDetails, columns: number, now: number, maxRows: number): readonly Line[] {
  const { run, status, timeline, approvals, createdAt } = view;
  const total = Object.values(timeline.totals).reduce((sum, milliseconds) => sum + milliseconds, 0);
  return [
    truncate([bold(run), '  ', statusText(status)], columns),
    ...factLines(view, columns, now),
    '',
    truncate(
      [
        bold('Timeline'),
        dim(`  ${formatTime(createdAt)}, ${formatDuration(total)}${hasEnded(status) ? '' : ' so far'}`),
      ],
      columns,
    ),
    ...timelineLines(timeline, columns, maxRows),
    ...approvals.flatMap((approval) => ['', ...approvalLines(approval, columns, now)]),
    ...adviceLines(view),
  ];
}

function factLines(view: RunDetails, columns: number, now: number): readonly Line[] {
  const {
    version,
    stepNumber,
    step,
    agent,
    owner,
    requestedBy,
    tags,
    createdAt,
    updatedAt,
    parent,
    forked,
    children,
    lease,
    deadline,
  } = view;
  const ready = explainReady(view);
  const { status, input, result, error, errorLocation, waits, encrypted, shredded, retention } = view;
  const facts: readonly (readonly [string, Line | undefined])[] = [
    ['agent', agent],
    ['owner', owner],
    ['requester', requestedBy],
    ['tags', tags.length > 0 ? tags.join(' ') : undefined],
    ['version', `${version}${step === undefined ? '' : `, step ${stepNumber} "${step}"`}`],
    [
      'started',
      `${formatRelativeTime(createdAt, now)}${updatedAt > createdAt ? `, updated ${formatRelativeTime(updatedAt, now)}` : ''}`,
    ],
    [forked ? 'fork of' : 'started by', parent && `${parent.run} version ${parent.version}`],
    ...children.slice(0, 10).map((child): readonly [string, Line] => ['child run', `${child.run}  ${child.status}`]),
    ['running on', lease && `${lease.by}, lease ends ${formatRelativeTime(lease.until, now)}`],
    ['times out', deadline && formatRelativeTime(deadline, now)],
    ['retention', retention && `${formatDuration(toMilliseconds('`retention`', retention))} after the last write`],
    ['encrypted', shredded ? styled('red', 'its key was destroyed') : encrypted ? 'yes' : undefined],
    ['input', input === undefined || input === null ? undefined : showDoc(input)],
    ...waits.map((wait): readonly [string, Line] => ['waits for', waitText(wait, now)]),
    ['decision', describeRefusal(view)],
    ['result', result === undefined ? undefined : styled('green', showDoc(result))],
  ];
  return [
    ...facts.flatMap(([name, text]) =>
      text === undefined ? [] : [truncate([dim(`  ${name.padEnd(11)}`), ...toSpans(text)], columns)],
    ),
    ...longFactLines(
      'ready',
      ready && `since ${formatRelativeTime(ready.since, now)}, but not running. ${ready.text}`,
      columns,
    ),
    ...longFactLines(status === 'CANCELLED' ? 'reason' : 'error', error && errorText(error), columns),
    ...longFactLines('location', errorLocation && `${shortPath(errorLocation.file)}:${errorLocation.line}`, columns),
    ...longFactLines('code', error?.code, columns),
    ...longFactLines('failed at', error?.failedOperations.join(', '), columns),
    ...(error?.causes ?? []).flatMap((cause) => longFactLines('cause', errorText(cause), columns)),
    ...longFactLines('not undone', error?.notUndone.join('; '), columns),
  ];
}

/** The text of an error, without the name if it is one of our own errors. */
const errorText = ({ name, message }: ErrorCause): string =>
  name === 'WaitstateError' ? message : `${name}: ${message}`;

/** A detail that is wrapped and never cut. */
function longFactLines(name: string, text: string | undefined, columns: number): readonly Line[] {
  if (text === undefined || text === '') return [];
  return wrapText(text, Math.min(columns, 100) - 13).map((line, i) => [
    dim(`  ${(i === 0 ? name : '').padEnd(11)}`),
    styled('red', line),
  ]);
}

function waitText({ kind, name, until, failures = 1, lastFailure }: Wait, now: number): Line {
  const end = until ? `, expires ${formatRelativeTime(until, now)}` : '';
  switch (kind) {
    case 'approval':
      return styled('yellow', `approval ${name}${end}`);
    case 'signal':
      return styled('yellow', `signal ${name}${end}`);
    case 'sleep':
      return `timer ${name}${until ? `, ends ${formatRelativeTime(until, now)}` : ''}`;
    case 'call':
      return `child run ${name}`;
    case 'retry':
      return `retry of ${name}${until ? ` ${formatRelativeTime(until, now)}` : ''}${lastFailure === undefined ? '' : `; failed ${failures === 1 ? 'once' : `${failures} times`}: ${lastFailure}`}`;
  }
}

/** The command that helps with this run. */
function adviceLines(view: RunDetails): readonly Line[] {
  const { run, status, waits } = view;
  const signal = waits.find(({ kind }) => kind === 'signal');
  if (signal) return ['', dim(`  waitstate signal ${shellQuote(run)} ${shellQuote(signal.name)} '…'`)];
  if (status !== 'FAILED') return [];
  const reason = explainRetry(view);
  if (reason !== undefined) return ['', dim(`  A retry fails again unless you deploy other code. ${reason}`)];
  return ['', dim(`  waitstate retry ${shellQuote(run)}`)];
}
