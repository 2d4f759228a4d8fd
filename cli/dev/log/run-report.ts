import type { ApprovalStatus } from '../../../lambda/core/approval.ts';
import { voterName } from '../../../lambda/core/delegation.ts';
import type { ApprovalDocument } from '../../../lambda/operator/approval-document.ts';
import type { RunView, Wait } from '../../../lambda/operator/operator.ts';
import { dim, styled, type TextSpan } from '../../terminal/line.ts';
import { formatDuration } from '../../terminal/times.ts';
import type { InvocationReport } from '../processes/messages.ts';
import type { ProcessExit } from '../processes/supervise.ts';
import { shortPath } from './dev-log.ts';
import type { CodeLocation } from './stack-location.ts';

/** Describes the end of an invocation that did not end its run, in one line; undefined if there is nothing to report. */
export function describeInvocationEnd(
  ended: InvocationReport,
  steps: number,
  view: RunView | undefined,
  now: number,
): readonly TextSpan[] | undefined {
  const done = stepCountText(steps);
  if (ended.end === 'suspended') return [...describeSuspension(ended, view, now), done];
  if (ended.end === 'fenced') return ['was claimed by another process', done];
  if (ended.end === 'failed') return [styled('red', `invocation failed: ${ended.error}`), done];
  if (ended.end === 'skipped' && ended.reason === 'parked')
    return [
      styled('yellow', 'waits for other code: '),
      view?.parkedReason ?? 'the stored run does not match this version',
    ];
  return undefined;
}

/** The number of steps of an invocation, in parentheses. */
export const stepCountText = (steps: number): TextSpan =>
  dim(steps === 0 ? '' : ` (${steps} ${steps === 1 ? 'step' : 'steps'})`);

/** What is known about the end of a run, in addition to the run itself. */
export interface RunEndDetails {
  /** The line of the agent's code that threw the error. */
  readonly location?: CodeLocation | undefined;
  /** How its last process crashed. */
  readonly crash?: string | undefined;
}

/** Describes how a run ended. */
export function describeRunEnd(
  view: RunView,
  now: number,
  { location, crash }: RunEndDetails = {},
): readonly TextSpan[] {
  const { status, createdAt, error } = view;
  const after = ` after ${formatDuration(now - createdAt.getTime())}`;
  if (status === 'SUCCEEDED') return [styled('green', 'succeeded'), after];
  const { name = '', message = '', reason, failedOperations = [], notUndone = [] } = error ?? {};
  const left = notUndone.length > 0 ? ` Not undone: ${notUndone.join('; ')}.` : '';
  if (status === 'CANCELLED')
    return [styled('magenta', 'cancelled'), `${after}${reason === undefined ? '' : `: ${reason}`}${left}`];
  const where = failedOperations.length > 0 ? ` at "${failedOperations.join('", "')}"` : '';
  const at = location ? ` (${shortPath(location.file)}:${location.line})` : '';
  const last = crash === undefined ? '' : ` Its last process ${crash}.`;
  return [styled('red', 'failed'), `${after}${where}: ${name}: ${message}${at}${last}${left}`];
}

function describeSuspension(
  { status, continues }: Extract<InvocationReport, { readonly end: 'suspended' }>,
  view: RunView | undefined,
  now: number,
): readonly TextSpan[] {
  if (continues) return ['continues in a new process'];
  if (status === 'ENDING') return ['waits before it continues to undo its steps'];
  const waits = (view?.waits ?? []).map((wait) => waitText(wait, now));
  const what = waits.length > 0 ? waits.join(', ') : status.toLowerCase().replaceAll('_', ' ');
  return [styled('yellow', `waits for ${what}`)];
}

function waitText({ kind, name, until }: Wait, now: number): string {
  const left = until ? ` in ${formatDuration(until.getTime() - now)}` : '';
  if (kind === 'approval') return `approval "${name}"`;
  if (kind === 'signal') return `signal "${name}"`;
  if (kind === 'call') return `run ${name}`;
  return kind === 'retry' ? `a retry of "${name}"${left}` : `timer "${name}"${left}`;
}

/** Describes how a process ended that sent no report, and what it did if it was killed at its time limit. */
export function describeCrash(
  { code, signal, killedFor }: ProcessExit,
  patienceMs: number,
  overran = 'took too long',
): string {
  if (killedFor === 'heartbeat') return `did not respond for ${formatDuration(patienceMs)} and was killed`;
  if (killedFor === 'timeout') return `${overran} and was killed`;
  if (signal !== null) return `was killed (${signal})`;
  if (code === 0) return 'exited before the run suspended or ended';
  return code === null ? 'could not be started' : `exited with code ${code}`;
}

const DECISION_VERBS: Readonly<Partial<Record<ApprovalStatus, TextSpan>>> = {
  APPROVED: styled('green', 'approved'),
  REJECTED: styled('red', 'rejected'),
  EXPIRED: styled('magenta', 'expired'),
  WITHDRAWN: styled('dim', 'withdrawn'),
};

const QUESTION_VERBS: typeof DECISION_VERBS = {
  APPROVED: styled('green', 'answered'),
  REJECTED: styled('red', 'declined'),
};

/** Describes the decision on an approval; undefined while it is pending. */
export function describeDecision(approval: ApprovalDocument): readonly TextSpan[] | undefined {
  const { status, title, votes, answerSchema } = approval;
  const verb = (answerSchema && QUESTION_VERBS[status]) ?? DECISION_VERBS[status];
  const by = votes.map(voterName).join(', ');
  return verb === undefined ? undefined : [verb, by === '' ? ': ' : ` by ${by}: `, title];
}
