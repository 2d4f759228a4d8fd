import { show } from '../checkpoints/documents.ts';
import { type CheckpointSummary, type Doc, partOf } from '../checkpoints/engine.ts';
import { hasEnded } from '../core/status.ts';
import { createOperator } from '../operator/create-operator.ts';
import type { Operator, RunView, Wait } from '../operator/operator.ts';
import { diffRecordedResults, listRecordedResults, type RecordedResult } from '../operator/recorded-results.ts';
import { buildTimeline, type Span } from '../operator/timeline.ts';
import type { Runtime } from '../runtime/runtime.ts';

// The text has at most 40 lines. Of a long run, its first and its last checkpoints are shown.
const FIRST_ROWS = 5;
const LAST_ROWS = 21;
const MAX_WAITS = 8;
const MAX_LINE = 180;

/**
 * The timeline of a run as text: its status, a line for each checkpoint with what it recorded, and what the run waits
 * for. Never throws, because it explains another error.
 */
export async function timelineText(runtime: Runtime, run: string): Promise<string> {
  const now = new Date(runtime.clock.now());
  try {
    const operator = createOperator(runtime);
    const view = await operator.run(run);
    const lines = [
      `Run "${run}" of agent "${view.agent}" is ${view.status} at ${time(now)} UTC.`,
      ...(await checkpointLines(operator, run)),
      ...(view.parkedReason === undefined ? [] : [`Parked: ${view.parkedReason}`]),
      ...(await waitLines(operator, view)),
    ];
    return lines.map(toLine).join('\n');
  } catch (error) {
    return `The timeline of run "${run}" cannot be read: ${String(error)}`;
  }
}

async function checkpointLines(operator: Operator, run: string): Promise<readonly string[]> {
  const spans = await readSpans(operator, run);
  const hiddenCount = spans.length - FIRST_ROWS - LAST_ROWS;
  const lineOf = async (span: Span) => checkpointLine(span, await readChanges(operator, run, span.checkpoint));
  if (hiddenCount <= 1) return Promise.all(spans.map(lineOf));
  return [
    ...(await Promise.all(spans.slice(0, FIRST_ROWS).map(lineOf))),
    `  … ${hiddenCount} more checkpoints …`,
    ...(await Promise.all(spans.slice(-LAST_ROWS).map(lineOf))),
  ];
}

async function readSpans(operator: Operator, run: string): Promise<readonly Span[]> {
  const checkpoints: CheckpointSummary[] = [];
  for (let from: number | undefined = 1; from !== undefined; ) {
    const page = await operator.history(run, { from, limit: 1_000 });
    checkpoints.push(...page.checkpoints);
    from = page.next;
  }
  return buildTimeline(checkpoints).spans;
}

/** The results that a checkpoint recorded or changed. */
async function readChanges(
  operator: Operator,
  run: string,
  checkpoint: CheckpointSummary | undefined,
): Promise<readonly RecordedResult[]> {
  if (!checkpoint || checkpoint.pruned) return [];
  const load = async (version: number) => listRecordedResults(await operator.checkpoint(run, version));
  const before = checkpoint.version > 1 ? await load(checkpoint.version - 1).catch(() => []) : [];
  const { added, changed } = diffRecordedResults(before, await load(checkpoint.version));
  return [...added, ...changed.map(({ after }) => after)];
}

function checkpointLine(span: Span, changes: readonly RecordedResult[]): string {
  const { checkpoint, to } = span;
  const status = checkpoint?.status ?? span.status;
  const what = [eventText(span), ...changes.flatMap(resultText)].filter((text) => text !== '').join('; ');
  return `  ${String(checkpoint?.version ?? '').padStart(4)}  ${time(to)}  ${status.padEnd(20)}  ${what}`;
}

/** What happened at a checkpoint, apart from the results that it recorded. */
function eventText({ kind, label, checkpoint }: Span): string {
  if (checkpoint?.kind === 'claim')
    return kind === 'crash' ? 'claim after a crash' : kind === 'waiting' ? `claim after ${label}` : 'claim';
  if (kind === 'queued' || kind === 'change' || label.startsWith('undo ') || label === 'update') return label;
  return '';
}

function resultText({ id, kind, value, error, lastFailure, isCompleted }: RecordedResult): readonly string[] {
  if (id === '@input') return [`input ${show(value ?? null)}`];
  if (id === '@result') return [`result ${show(value ?? null)}`];
  if (id === '@error') return [`error: ${errorText(error)}`];
  if (id.startsWith('@undo:')) return error === undefined ? [] : [`undo of ${id.slice(6)} failed: ${errorText(error)}`];
  const name = `${kind ?? ''} ${id}`.trim();
  if (error !== undefined) return [`${name} failed: ${errorText(error)}`];
  if (isCompleted || value !== undefined) return [`${name} → ${value === undefined ? 'undefined' : show(value)}`];
  return [lastFailure === undefined ? `${name} waits` : `${name} failed, to be retried: ${lastFailure}`];
}

const errorText = (error: Doc | undefined): string => {
  const message = partOf(error, 'error', 2);
  return typeof message === 'string' ? message : show(error ?? null);
};

async function waitLines(operator: Operator, { run, status, waits }: RunView): Promise<readonly string[]> {
  if (hasEnded(status) || waits.length === 0) return [];
  const texts = await Promise.all(waits.slice(0, MAX_WAITS).map((wait) => waitText(operator, run, wait)));
  const more = waits.length > MAX_WAITS ? [`  … and ${waits.length - MAX_WAITS} more`] : [];
  return ['It waits for:', ...texts.map((text) => `  ${text}`), ...more];
}

async function waitText(operator: Operator, run: string, { kind, name, until }: Wait): Promise<string> {
  const end = until === undefined ? '' : `, until ${time(until)}`;
  if (kind === 'call') return `child run "${name}"`;
  if (kind === 'retry') return `the next attempt of "${name}"${until === undefined ? '' : `, at ${time(until)}`}`;
  if (kind !== 'approval') return `${kind} "${name}"${end}`;
  const approval = await operator.approval(run, name);
  const deadline = approval.deadline ? `, until ${time(approval.deadline)}` : '';
  return `approval "${name}" by ${approval.approvers.join(', ')}: ${approval.title}${deadline}`;
}

/** A time in UTC, to the millisecond. */
const time = (date: Date): string => date.toISOString().replace('T', ' ').replace('Z', '');

/** One line without control characters, cut if it is long. */
function toLine(text: string): string {
  const line = text.replace(/\p{Cc}+/gu, ' ').trimEnd();
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE - 1)}…` : line;
}
