import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { type HandlerName, serviceOf } from '../environment/names.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { Environment } from './read-environment.ts';

/** Logs and metrics (EMF) of one handler, written with AWS Lambda Powertools. */
export function powertoolsTelemetry(
  handler: HandlerName,
  { metricsNamespace: namespace }: Pick<Environment, 'metricsNamespace'>,
): Telemetry {
  const serviceName = serviceOf(handler);
  const logger = new Logger({ serviceName });
  const metrics = new Metrics({ namespace, serviceName });
  return {
    log: (level, message, fields) => logger[level](message, { ...fields }),
    count: (metric, value = 1) => {
      const unit = metric.endsWith('Seconds') ? MetricUnit.Seconds : MetricUnit.Count;
      metrics.addMetric(metric, unit, value);
    },
    async runInvocation(run) {
      try {
        return await run();
      } finally {
        if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
      }
    },
  };
}
