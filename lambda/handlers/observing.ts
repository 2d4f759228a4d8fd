import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { Tracer } from '@aws-lambda-powertools/tracer';
import { type ErrorCode, isHoldpointError } from '../core/errors.ts';
import type { Log } from '../runtime/runtime.ts';

/** What is counted, in the namespace `Holdpoint`. */
export type Metric =
  | 'Delivered'
  | 'DeliveryFailed'
  | 'UnknownAgent'
  | 'MalformedRecord'
  | 'Told'
  | 'TellingFailed'
  | 'RunEnded'
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
  | 'SweepFailed';

/** Where a handler says what it does. Nothing of a state, no token, and nothing that people said goes there. */
export interface Observing {
  readonly log: Log;
  count(metric: Metric, value?: number): void;
  /** Runs one invocation: in a part of the trace, and with its metrics written at the end. */
  invocation<T>(run: () => Promise<T>): Promise<T>;
}

/** What of the context of a Lambda invocation is needed. */
export interface InvocationContext {
  readonly awsRequestId: string;
}

/** Logs, metrics (EMF) and traces of one handler by AWS Lambda Powertools. */
export function observingOf(handler: string): Observing {
  const serviceName = `holdpoint-${handler}`;
  const logger = new Logger({ serviceName });
  const metrics = new Metrics({ namespace: 'Holdpoint', serviceName });
  // Requests and responses would carry states and tokens into the trace.
  const tracer = new Tracer({ serviceName, captureHTTPsRequests: false });
  return {
    log: (level, message, fields) => logger[level](message, { ...fields }),
    count: (metric, value = 1) => void metrics.addMetric(metric, MetricUnit.Count, value),
    async invocation(run) {
      const parent = tracer.isTracingEnabled() ? tracer.getSegment() : undefined;
      const part = parent?.addNewSubsegment(`## ${handler}`);
      if (part) tracer.setSegment(part);
      try {
        return await run();
      } catch (error) {
        // Only that there was one: what it says may be about people.
        part?.addErrorFlag();
        throw error;
      } finally {
        part?.close();
        if (parent) tracer.setSegment(parent);
        if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
      }
    },
  };
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
  if (!isHoldpointError(error)) {
    const { name, $metadata } = Object(error) as {
      name?: unknown;
      $metadata?: { httpStatusCode?: number; requestId?: string };
    };
    const { httpStatusCode, requestId } = $metadata ?? {};
    return { error: typeof name === 'string' ? name : 'unknown', httpStatusCode, requestId };
  }
  return { error: error.code, ...(TELLING.has(error.code) && { why: error.message }) };
}
