import type { RunSummary } from '../checkpoints/engine.ts';
import type { ApprovalStatus } from '../core/approval.ts';
import type { Status } from '../core/status.ts';
import { describeRefusal } from '../operator/describe-run.ts';
import { waitsForChildren } from '../operator/describe-waits.ts';
import { type Html, html } from './markup.ts';

/** The color and shape of a status. */
type Tone = 'ok' | 'bad' | 'wait' | 'run' | 'neutral';

const STATUS_STYLES: Readonly<Record<Status | ApprovalStatus, readonly [Tone, string]>> = {
  READY: ['run', 'Ready'],
  RUNNING: ['run', 'Running'],
  WAITING_FOR_APPROVAL: ['wait', 'Waiting for approval'],
  WAITING_FOR_SIGNAL: ['wait', 'Waiting for a signal'],
  SLEEPING: ['neutral', 'Sleeping'],
  ENDING: ['run', 'Ending'],
  SUCCEEDED: ['ok', 'Succeeded'],
  FAILED: ['bad', 'Failed'],
  CANCELLED: ['neutral', 'Cancelled'],
  PENDING: ['wait', 'Pending'],
  APPROVED: ['ok', 'Approved'],
  REJECTED: ['bad', 'Rejected'],
  EXPIRED: ['neutral', 'Expired'],
  WITHDRAWN: ['neutral', 'Withdrawn'],
};

// Each tone has its own shape, for people who do not see colors.
const SHAPES: Readonly<Record<Tone, Html>> = {
  ok: html`<path d="M3 8.5 6.5 12 13 4.5"/>`,
  bad: html`<path d="m4 4 8 8m0-8-8 8"/>`,
  wait: html`<path d="M8 3.5V8l3 2"/><circle cx="8" cy="8" r="6"/>`,
  run: html`<path d="M5 3.5v9L12.5 8z"/>`,
  neutral: html`<path d="M3.5 8h9"/>`,
};

/** A status in words, capitalized. */
export const statusLabel = (status: Status | ApprovalStatus): string => STATUS_STYLES[status][1];

/** A status as a badge, in its own words or in others. */
export function statusBadge(status: Status | ApprovalStatus, label?: string): Html {
  const [tone, words] = STATUS_STYLES[status];
  return badge(tone, label ?? words);
}

/** A run, as far as its status is shown. */
type ShownRun = Pick<RunSummary, 'status' | 'waitsFor' | 'outcome'>;

/**
 * The status of a run as a badge. A run that waits only for child runs waits for no signal, and one that succeeded
 * after a rejection is not green.
 */
export function runStatusBadge(run: ShownRun): Html {
  const [tone] = STATUS_STYLES[run.status];
  const isRefused = run.status === 'SUCCEEDED' && describeRefusal(run) !== undefined;
  return badge(isRefused ? 'neutral' : tone, runStatusLabel(run));
}

/** The status of a run in words, capitalized. */
export const runStatusLabel = ({ status, waitsFor }: ShownRun): string =>
  status === 'WAITING_FOR_SIGNAL' && waitsForChildren(waitsFor) ? 'Waiting for a child run' : statusLabel(status);

/** A badge with any words. */
export function badge(tone: Tone, words: string): Html {
  return html`<span class="badge ${tone}"><svg viewBox="0 0 16 16" aria-hidden="true">${SHAPES[tone]}</svg>${words}</span>`;
}
