import { allOf, type Deployed } from './resolve.ts';

/** A Waitstate metric; `service` is its only dimension. */
export interface Metric {
  readonly namespace: string;
  readonly service: string;
  readonly metric: string;
}

interface Emf {
  readonly _aws?: {
    readonly CloudWatchMetrics: readonly {
      readonly Namespace: string;
      readonly Dimensions: readonly (readonly string[])[];
      readonly Metrics: readonly { readonly Name: string }[];
    }[];
  };
  readonly [field: string]: unknown;
}

/**
 * The metrics that CloudWatch extracts from log lines.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export const metricsIn = (lines: readonly string[]): readonly (Metric & { readonly value: unknown })[] =>
  lines
    .filter((line) => line.startsWith('{'))
    .flatMap((line) => {
      const { _aws, ...fields } = JSON.parse(line) as Emf;
      return (_aws?.CloudWatchMetrics ?? []).flatMap(({ Namespace, Dimensions, Metrics }) => {
        if (JSON.stringify(Dimensions) !== '[["service"]]')
          throw new Error(`The only dimension must be service; found ${JSON.stringify(Dimensions)}.`);
        return Metrics.map(({ Name }) => ({
          namespace: Namespace,
          service: String(fields.service),
          metric: Name,
          value: fields[Name],
        }));
      });
    });

interface AlarmProperties {
  readonly Namespace?: string;
  readonly MetricName?: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: string }[];
  readonly Metrics?: readonly {
    readonly MetricStat?: {
      readonly Metric: Required<Pick<AlarmProperties, 'Namespace' | 'MetricName' | 'Dimensions'>>;
    };
  }[];
}

/** The Waitstate metrics that the alarms of a template evaluate. */
export const inAlarms = (deployed: Deployed): readonly Metric[] =>
  allOf<AlarmProperties>(deployed, 'AWS::CloudWatch::Alarm').flatMap(({ properties }) =>
    [properties, ...(properties.Metrics ?? []).flatMap(({ MetricStat }) => MetricStat?.Metric ?? [])].flatMap(
      ({ Namespace = '', MetricName = '', Dimensions = [] }) =>
        isOurs(Namespace)
          ? [
              metricOf(
                Namespace,
                MetricName,
                Dimensions.flatMap(({ Name, Value }) => [Name, Value]),
              ),
            ]
          : [],
    ),
  );

/** The Waitstate metrics that the dashboard of a template shows. */
export const inDashboard = (deployed: Deployed): readonly Metric[] =>
  allOf<{ DashboardBody: string }>(deployed, 'AWS::CloudWatch::Dashboard').flatMap(({ properties }) => {
    const { widgets } = JSON.parse(properties.DashboardBody) as {
      widgets: { properties: { metrics?: unknown[][] } }[];
    };
    return widgets
      .flatMap((widget) => widget.properties.metrics ?? [])
      .flatMap((row) => {
        const [namespace = '', name = '', ...dimensions] = row.filter((each) => typeof each === 'string');
        return isOurs(namespace) ? [metricOf(namespace, name, dimensions)] : [];
      });
  });

const isOurs = (namespace: string): boolean => namespace.startsWith('Waitstate');

function metricOf(namespace: string, metric: string, [name, service = '', ...more]: readonly string[]): Metric {
  if (name !== 'service' || more.length > 0) throw new Error(`The only dimension of ${metric} must be service.`);
  return { namespace, service, metric };
}
