import { type ErrorCode, isWaitstateError } from '../core/errors.ts';
import type { Log } from './runtime.ts';

/** What is counted or measured; what is measured in seconds says so in its name. */
export type Metric =
  | 'Delivered'
  | 'DeliveryFailed'
  | 'UnknownAgent'
  | 'MalformedRecord'
  | 'Told'
  | 'TellingFailed'
  | 'RunSucceeded'
  | 'RunFailed'
  | 'RunCancelled'
  | 'ApprovalAnswered'
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
  | Gauge;

/** What there is just now, whatever happened before. */
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
  | 'GaugesCut';

/** Where a handler says what it does. Nothing of a state, no token, and nothing that people said goes there. */
export interface Telemetry {
  readonly log: Log;
  count(metric: Metric, value?: number): void;
  /** Runs one invocation: in a part of the trace, and with its metrics written at the end. */
  traceInvocation<T>(run: () => Promise<T>): Promise<T>;
}

// What these say is about tables, keys and functions, and nothing else.
const TELLING: ReadonlySet<ErrorCode> = new Set([
  'STORAGE_MISSING',
  'STORAGE_DENIED',
  'STORAGE_UNAVAILABLE',
  'STORAGE_FULL',
  'KEY_UNAVAILABLE',
  'FORMAT_TOO_NEW',
  'AGENT_NOT_FOUND',
]);

/** What of an error may be logged: what it is, and what it says where that is about nobody. */
export function errorFields(error: unknown): Readonly<Record<string, unknown>> {
  if (!isWaitstateError(error)) {
    const { name, $metadata } = Object(error) as {
      name?: unknown;
      $metadata?: { httpStatusCode?: number; requestId?: string };
    };
    const { httpStatusCode, requestId } = $metadata ?? {};
    return { error: typeof name === 'string' ? name : 'unknown', httpStatusCode, requestId };
  }
  return { error: error.code, ...(TELLING.has(error.code) && { why: error.message }) };
}
