import { Duration } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard as CloudWatchDashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Metric as MetricName } from '../../lambda/runtime/telemetry.ts';
import {
  bucketSizeMetric,
  capacityMetrics,
  functionMetrics,
  type MonitoredResources,
  PERIOD,
  tableMetric,
  throttledRequests,
  waitstateMetric,
} from './metrics.ts';

const period = PERIOD;

/** The CloudWatch dashboard: runs and approvals, how long they wait, errors, and cost. */
export class Dashboard extends Construct {
  readonly dashboard: CloudWatchDashboard;
  readonly #agentErrors = graph('Agents: invocations, errors', []);
  readonly #agentDurations = graph('Agents: duration (ms, p90)', []);
  #hasAgents = false;

  constructor(
    scope: Construct,
    id: string,
    { monitored, alarms }: { readonly monitored: MonitoredResources; readonly alarms: Alarm[] },
  ) {
    super(scope, id);
    const rows: IWidget[][] = [
      ...(alarms.length > 0 ? [[new AlarmStatusWidget({ title: 'Alarms', alarms, width: 24, height: 3 })]] : []),
      runRow(monitored),
      waitRow(monitored),
      flowRow(monitored),
      apiRow(monitored),
      errorRow(monitored),
      costRow(this, monitored),
    ];
    this.dashboard = new CloudWatchDashboard(this, 'Dashboard', { widgets: rows, defaultInterval: Duration.hours(24) });
  }

  /** Adds the function of an agent to the graphs. */
  addAgent(name: string, fn: IFunction): void {
    // CloudWatch refuses a dashboard with an empty graph.
    if (!this.#hasAgents) this.dashboard.addWidgets(this.#agentErrors, this.#agentDurations);
    this.#hasAgents = true;
    this.#agentErrors.addLeftMetric(fn.metricInvocations({ label: name, period }));
    this.#agentErrors.addRightMetric(fn.metricErrors({ label: `${name}: errors`, period }));
    this.#agentDurations.addLeftMetric(fn.metricDuration({ label: name, statistic: 'p90', period }));
  }
}

const graph = (title: string, left: IMetric[], right: IMetric[] = [], stacked = false): GraphWidget =>
  new GraphWidget({ title, left, right, stacked, width: 8, height: 6, leftYAxis: { min: 0 }, rightYAxis: { min: 0 } });

const STATUS_BY_METRIC = {
  RunsReady: 'READY',
  RunsRunning: 'RUNNING',
  RunsWaitingForApproval: 'WAITING_FOR_APPROVAL',
  RunsWaitingForSignal: 'WAITING_FOR_SIGNAL',
  RunsSleeping: 'SLEEPING',
  RunsEnding: 'ENDING',
} as const satisfies Partial<Record<MetricName, string>>;

function runRow(monitored: MonitoredResources): IWidget[] {
  const gauges = Object.entries(STATUS_BY_METRIC).map(([metric, label]) =>
    waitstateMetric(monitored, 'gauge', metric as keyof typeof STATUS_BY_METRIC, 'Maximum', label),
  );
  return [
    graph('Runs by status (counted up to 1,000 each)', gauges, [], true),
    graph('Ended runs', [
      waitstateMetric(monitored, 'notify', 'RunSucceeded', 'Sum', 'SUCCEEDED'),
      waitstateMetric(monitored, 'notify', 'RunFailed', 'Sum', 'FAILED'),
      waitstateMetric(monitored, 'notify', 'RunCancelled', 'Sum', 'CANCELLED'),
    ]),
    graph('Oldest READY (s)', [waitstateMetric(monitored, 'gauge', 'OldestReadySeconds', 'Maximum', 'oldest READY')]),
  ];
}

const waitRow = (monitored: MonitoredResources): IWidget[] => [
  graph('Pending approvals', [
    waitstateMetric(monitored, 'gauge', 'RunsWaitingForApproval', 'Maximum', 'waiting runs'),
    waitstateMetric(monitored, 'gauge', 'ApprovalsDueSoon', 'Maximum', 'due within a day'),
  ]),
  graph('Oldest approval (s)', [
    waitstateMetric(monitored, 'gauge', 'OldestApprovalSeconds', 'Maximum', 'oldest approval'),
  ]),
  graph('Decisions and notifications', [
    waitstateMetric(monitored, 'api', 'DecisionRecorded', 'Sum', 'decisions'),
    waitstateMetric(monitored, 'notify', 'Notified', 'Sum', 'notifications'),
    waitstateMetric(monitored, 'notify', 'NotificationFailed', 'Sum', 'failed notifications'),
  ]),
];

const flowRow = (monitored: MonitoredResources): IWidget[] => [
  graph('Stream lag (ms)', [
    monitored.handlers.resume.metric('IteratorAge', { label: 'resume', statistic: 'Maximum', period }),
    monitored.handlers.notify.metric('IteratorAge', { label: 'notify', statistic: 'Maximum', period }),
  ]),
  graph('Deliveries and retries', [
    waitstateMetric(monitored, 'resume', 'Delivered', 'Sum', 'delivered'),
    waitstateMetric(monitored, 'resume', 'DeliveryFailed', 'Sum', 'failed'),
    waitstateMetric(monitored, 'sweep', 'SweepDelivered', 'Sum', 'delivered by the sweeper'),
    waitstateMetric(monitored, 'sweep', 'SweepRedelivered', 'Sum', 'redelivered by the sweeper'),
  ]),
  graph('Conflicts and dead letters', [
    tableMetric(monitored, 'ConditionalCheckFailedRequests', 'failed conditions'),
    tableMetric(monitored, 'TransactionConflict', 'transaction conflicts'),
    monitored.deadLetterQueue.metricApproximateNumberOfMessagesVisible({
      label: 'dead letters',
      statistic: 'Maximum',
      period,
    }),
  ]),
];

const errorRow = (monitored: MonitoredResources): IWidget[] => [
  graph(
    'Handlers: errors, throttles',
    functionMetrics(Object.entries(monitored.handlers), (fn, options) => fn.metricErrors(options)),
    functionMetrics(Object.entries(monitored.handlers), (fn, options) => fn.metricThrottles(options)),
  ),
  graph('Table: throttled requests', [throttledRequests(monitored)]),
];

const apiRow = (monitored: MonitoredResources): IWidget[] => [
  graph(
    'API: requests',
    monitored.apis.map((api, index) => api.metricCount({ label: `requests ${index + 1}`, statistic: 'Sum', period })),
    monitored.apis.flatMap((api, index) => [
      api.metricClientError({ label: `4xx ${index + 1}`, statistic: 'Sum', period }),
      api.metricServerError({ label: `5xx ${index + 1}`, statistic: 'Sum', period }),
    ]),
  ),
  graph(
    'API: latency (ms, p90)',
    monitored.apis.map((api, index) => api.metricLatency({ label: `latency ${index + 1}`, statistic: 'p90', period })),
  ),
];

const costRow = (scope: Construct, monitored: MonitoredResources): IWidget[] => [
  graph(
    'Cost: DynamoDB units',
    [...capacityMetrics(monitored, 'Write', 'written'), ...capacityMetrics(monitored, 'Read', 'read')],
    [],
    true,
  ),
  graph(
    'Cost: function time (ms)',
    functionMetrics(Object.entries(monitored.handlers), (fn, options) =>
      fn.metricDuration({ ...options, statistic: 'Sum' }),
    ),
    [],
    true,
  ),
  graph('Cost: bucket size (bytes)', [bucketSizeMetric(scope, monitored)]),
];
