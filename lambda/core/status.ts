import { WaitstateError } from './errors.ts';

/** The statuses from which a run can continue, each with the statuses that may follow. */
const ACTIVE_TRANSITIONS = {
  READY: ['RUNNING', 'ENDING', 'CANCELLED', 'FAILED'],
  RUNNING: [
    'READY',
    'WAITING_FOR_APPROVAL',
    'WAITING_FOR_SIGNAL',
    'SLEEPING',
    'ENDING',
    'SUCCEEDED',
    'FAILED',
    'CANCELLED',
  ],
  WAITING_FOR_APPROVAL: ['READY', 'RUNNING', 'ENDING', 'FAILED', 'CANCELLED'],
  WAITING_FOR_SIGNAL: ['READY', 'RUNNING', 'ENDING', 'FAILED', 'CANCELLED'],
  SLEEPING: ['READY', 'RUNNING', 'ENDING', 'FAILED', 'CANCELLED'],
  ENDING: ['FAILED', 'CANCELLED'],
} as const;

const ENDED_TRANSITIONS = { SUCCEEDED: [], FAILED: [], CANCELLED: [] } as const;

/** The statuses that may follow each status. A rewind, undo or retry may also reopen an ended run. */
export const TRANSITIONS: { readonly [S in Status]: readonly Status[] } = {
  ...ACTIVE_TRANSITIONS,
  ...ENDED_TRANSITIONS,
};

export type Status = keyof typeof ACTIVE_TRANSITIONS | keyof typeof ENDED_TRANSITIONS;

export const STATUSES = Object.keys(TRANSITIONS) as readonly Status[];

/** Whether a run in this status has ended. */
export const hasEnded = (status: Status): boolean => status in ENDED_TRANSITIONS;

/** Whether a run in this status is suspended until an event resumes it. */
export const isWaiting = (status: Status): boolean =>
  status === 'WAITING_FOR_APPROVAL' || status === 'WAITING_FOR_SIGNAL' || status === 'SLEEPING';

/** Rejects a status change that `TRANSITIONS` does not allow. */
export function checkTransition(run: string, from: Status, to: Status, options: { reopen?: boolean } = {}): void {
  if (from === to || TRANSITIONS[from].includes(to) || options.reopen) return;
  const allowed = TRANSITIONS[from].join(', ') || 'nothing (rewind or fork it instead)';
  throw new WaitstateError(
    'TRANSITION_REFUSED',
    `Run "${run}" is ${from} and cannot become ${to}. Allowed: ${allowed}.`,
    { scope: 'run' },
  );
}
