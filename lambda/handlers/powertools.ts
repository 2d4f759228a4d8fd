import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { Tracer } from '@aws-lambda-powertools/tracer';
import { type HandlerName, serviceOf } from '../environment/names.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { Environment } from './read-environment.ts';

/** Logs, metrics (EMF) and traces of one handler, written with AWS Lambda Powertools. */
export function powertoolsTelemetry(
  handler: HandlerName,
  { metricsNamespace: namespace }: Pick<Environment, 'metricsNamespace'>,
): Telemetry {
  const serviceName = serviceOf(handler);
  const logger = new Logger({ serviceName });
  const metrics = new Metrics({ namespace, serviceName });
  // Captured requests and responses would put states and tokens into the trace.
  const tracer = new Tracer({ serviceName, captureHTTPsRequests: false });
  return {
    log: (level, message, fields) => logger[level](message, { ...fields }),
    count: (metric, value = 1) => {
      const unit = metric.endsWith('Seconds') ? MetricUnit.Seconds : MetricUnit.Count;
      metrics.addMetric(metric, unit, value);
    },
    async traceInvocation(run) {
      const parent = tracer.isTracingEnabled() ? tracer.getSegment() : undefined;
      const part = parent?.addNewSubsegment(`## ${handler}`);
      if (part) tracer.setSegment(part);
      try {
        return await run();
      } catch (error) {
        // Only the flag, because the message of an error may contain personal data.
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
