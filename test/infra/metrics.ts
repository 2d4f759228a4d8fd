import type { StackTemplate } from './template.ts';

/** A metric with its dimensions. */
interface NamedMetric {
  readonly namespace: string;
  readonly metric: string;
  readonly of: Readonly<Record<string, string>>;
}

/** The properties of an alarm that tests check. */
export interface AlarmProperties {
  readonly AlarmDescription: string;
  readonly AlarmActions: readonly unknown[];
  readonly OKActions: readonly unknown[];
  readonly Namespace?: string;
  readonly MetricName?: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: unknown }[];
  readonly Metrics?: readonly {
    readonly Expression?: string;
    readonly MetricStat?: { readonly Metric: Pick<AlarmProperties, 'Namespace' | 'MetricName' | 'Dimensions'> };
  }[];
}

/** The alarms of a template. */
export const alarmsOf = (template: StackTemplate) => template.all<AlarmProperties>('AWS::CloudWatch::Alarm');

function metricsOfAlarms(template: StackTemplate): readonly NamedMetric[] {
  return alarmsOf(template).flatMap(({ Properties }) => {
    const of = (Properties.Metrics ?? []).flatMap(({ MetricStat }) => MetricStat?.Metric ?? []);
    return [...(Properties.MetricName ? [Properties] : []), ...of].map(
      ({ Namespace, MetricName, Dimensions = [] }) => ({
        namespace: String(Namespace),
        metric: String(MetricName),
        of: Object.fromEntries(Dimensions.map(({ Name, Value }) => [Name, template.text(Value)])),
      }),
    );
  });
}

interface Widget {
  readonly type: string;
  readonly properties: {
    readonly title: string;
    readonly alarms?: readonly string[];
    readonly metrics?: readonly unknown[][];
  };
}

/** The widgets of the dashboard. */
export const widgetsOf = (template: StackTemplate): readonly Widget[] =>
  JSON.parse(template.text(template.one('AWS::CloudWatch::Dashboard').Properties.DashboardBody)).widgets;

/** The metrics of a dashboard; what is calculated of others has no name. */
function metricsOfDashboard(template: StackTemplate): readonly NamedMetric[] {
  const rows = widgetsOf(template).flatMap(({ properties }) => properties.metrics ?? []);
  return rows
    .filter(([first]) => typeof first === 'string')
    .map((row) => {
      const [namespace = '', metric = '', ...pairs] = row.filter((each) => typeof each === 'string');
      return {
        namespace,
        metric,
        of: Object.fromEntries(
          Array.from(pairs.keys())
            .filter((at) => at % 2 === 0)
            .map((at) => [pairs[at], pairs[at + 1]]),
        ),
      };
    });
}

/** All metrics of the alarms and the dashboard. */
export const metricsOf = (template: StackTemplate) => [...metricsOfAlarms(template), ...metricsOfDashboard(template)];
