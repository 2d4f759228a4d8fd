import { type ErrorCode, isWaitstateError } from '../core/errors.ts';
import type { Log } from './runtime.ts';

/** A CloudWatch metric; one that is measured in seconds ends in `Seconds`. */
export type Metric =
  | 'Delivered'
  | 'DeliveryFailed'
  | 'UnknownAgent'
  | 'MalformedRecord'
  | 'Notified'
  | 'NotificationFailed'
  | 'RunSucceeded'
  | 'RunFailed'
  | 'RunCancelled'
  | 'DecisionRecorded'
  | 'RequestRefused'
  | 'RequestFailed'
  | 'SweepDelivered'
  | 'SweepRedelivered'
  | 'SweepTimedOut'
  | 'SweepApprovals'
  | 'SweepExpired'
  | 'SweepFreed'
  | 'SweepRemoved'
  | 'SweepFailed'
  | 'ClockDifferenceSeconds'
  | 'PayloadsCollected'
  | 'CollectionFailed'
  | Gauge;

/** A metric that shows the current value instead of a count of events. */
export type Gauge =
  | 'RunsReady'
  | 'RunsRunning'
  | 'RunsWaitingForApproval'
  | 'RunsWaitingForSignal'
  | 'RunsSleeping'
  | 'RunsEnding'
  | 'OldestReadySeconds'
  | 'OldestApprovalSeconds'
  | 'ApprovalsDueSoon'
  | 'NotificationsUnsent'
  | 'GaugesTruncated';

/** The logs and metrics of a handler. They never contain state, tokens or comments of approvers. */
export interface Telemetry {
  readonly log: Log;
  count(metric: Metric, value?: number): void;
  /** Runs one invocation, and writes its metrics at the end. */
  runInvocation<T>(run: () => Promise<T>): Promise<T>;
}

// The messages of these errors name only tables, keys and functions, so they are safe to log.
const LOGGABLE_CODES: ReadonlySet<ErrorCode> = new Set([
  'STORAGE_MISSING',
  'STORAGE_DENIED',
  'STORAGE_UNAVAILABLE',
  'STORAGE_FULL',
  'KEY_UNAVAILABLE',
  'FORMAT_TOO_NEW',
  'AGENT_NOT_FOUND',
]);

/** The log fields of an error: its code or name, and its message only when that cannot contain user data. */
export function errorFields(error: unknown): Readonly<Record<string, unknown>> {
  if (!isWaitstateError(error)) {
    const { name, $metadata } = Object(error) as {
      name?: unknown;
      $metadata?: { httpStatusCode?: number; requestId?: string };
    };
    const { httpStatusCode, requestId } = $metadata ?? {};
    return { error: typeof name === 'string' ? name : 'unknown', httpStatusCode, requestId };
  }
  return { error: error.code, ...(LOGGABLE_CODES.has(error.code) && { errorMessage: error.message }) };
}
