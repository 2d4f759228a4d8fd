import type { RunSummary } from '../checkpoints/engine.ts';
import { hasEnded } from '../core/status.ts';
import { describeWaits } from './describe-waits.ts';

/** What people decided, if the run did not get what it asked for: `rejected by user:ann`. */
export function describeRefusal({ outcome }: Pick<RunSummary, 'outcome'>): string | undefined {
  const [status, ...by] = outcome?.decision ?? [];
  if (status === undefined || status === 'APPROVED' || status === 'ANSWERED') return undefined;
  return describeDecision(status, by);
}

/** What people did, and what followed, of decisions that did not hold. */
const WORDS: Readonly<Record<string, readonly [did: string, then: string]>> = {
  CHANGED: ['approved', ', then changed again'],
  NOT_ACCEPTED: ['answered', ', but not accepted'],
};

function describeDecision(status: string, by: readonly string[]): string {
  const [did, then] = WORDS[status] ?? [status.toLowerCase(), ''];
  return `${did}${by.length > 0 ? ` by ${by.join(', ')}` : ''}${then}`;
}

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
