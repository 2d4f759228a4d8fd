import type { RunSummary } from '../checkpoints/engine.ts';
import { hasEnded } from '../core/status.ts';
import { describeWaits } from './describe-waits.ts';

/** What people decided, if the run did not get what it asked for: `rejected by user:ann`. */
export function describeRefusal({ outcome }: Pick<RunSummary, 'outcome'>): string | undefined {
  const [status, ...by] = outcome?.decision ?? [];
  if (status === undefined || status === 'APPROVED' || status === 'ANSWERED') return undefined;
  return describeDecision(status, by);
}

const DECISION_WORDS: Readonly<Record<string, string>> = { CHANGED: 'approved, but the facts kept changing' };

const describeDecision = (status: string, by: readonly string[]): string =>
  `${DECISION_WORDS[status] ?? status.toLowerCase()}${by.length > 0 ? ` by ${by.join(', ')}` : ''}`;

/**
 * What came of a run, or what it waits for or did last, in a line: what people decided, then the result; or the code,
 * the step and the message of an error.
 */
export function describeRun(run: RunSummary): string {
  const { status, outcome, waitsFor, statusChange, parkedReason } = run;
  if (status === 'READY' && parkedReason !== undefined) return `parked: ${parkedReason}`;
  // The status says that it waits.
  if (!hasEnded(status) && waitsFor !== undefined) return describeWaits(waitsFor, status).replace(/^waiting for /, '');
  if (!hasEnded(status)) return statusChange.step ?? '';
  const { text = '', code = '', decision: [decided, ...by] = [] } = outcome ?? {};
  const isFailed = status === 'FAILED';
  const parts = [
    status === 'SUCCEEDED' && decided !== undefined ? describeDecision(decided, by) : '',
    isFailed ? code : '',
    isFailed && statusChange.step !== undefined ? `at ${statusChange.step}` : '',
    text,
  ].filter((part) => part !== '');
  // Without an outcome, such as in a run that a program saved, its last step says the most.
  return parts.length > 0 ? parts.join(' · ') : (statusChange.step ?? '');
}
