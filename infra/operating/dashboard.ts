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
  functionMetrics,
  type MonitoredResources,
  PERIOD,
  tableMetric,
  throttledRequests,
  waitstateMetric,
} from './metrics.ts';

const period = PERIOD;

/** What there is to see: runs, approvals, how long they wait, what goes wrong, and what it costs. */
export class Dashboard extends Construct {
  readonly dashboard: CloudWatchDashboard;
  readonly #agentErrors = graph('Agents: invocations, errors', []);
  readonly #agentTimes = graph('Agents: how long an invocation takes (ms)', []);
  #hasAgents = false;

  constructor(
    scope: Construct,
    id: string,
    { measured, alarms }: { readonly measured: MonitoredResources; readonly alarms: readonly Alarm[] },
  ) {
    super(scope, id);
    const rows: IWidget[][] = [
      ...(alarms.length > 0
        ? [[new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: 24, height: 3 })]]
        : []),
      runRow(measured),
      waitRow(measured),
      flowRow(measured),
      apiRow(measured),
      errorRow(measured),
      costRow(this, measured),
    ];
    this.dashboard = new CloudWatchDashboard(this, 'Dashboard', { widgets: rows, defaultInterval: Duration.hours(24) });
  }

  /** Shows the function of one more agent. */
  addAgent(name: string, of: IFunction): void {
    // CloudWatch refuses a dashboard with an empty graph.
    if (!this.#hasAgents) this.dashboard.addWidgets(this.#agentErrors, this.#agentTimes);
    this.#hasAgents = true;
    this.#agentErrors.addLeftMetric(of.metricInvocations({ label: name, period }));
    this.#agentErrors.addRightMetric(of.metricErrors({ label: `${name}: errors`, period }));
    this.#agentTimes.addLeftMetric(of.metricDuration({ label: name, statistic: 'p90', period }));
  }
}

const graph = (title: string, left: IMetric[], right: IMetric[] = [], stacked = false): GraphWidget =>
  new GraphWidget({ title, left, right, stacked, width: 8, height: 6, leftYAxis: { min: 0 }, rightYAxis: { min: 0 } });

const STATUSES = {
  RunsReady: 'READY',
  RunsRunning: 'RUNNING',
  RunsWaitingForApproval: 'WAITING_FOR_APPROVAL',
  RunsWaitingForSignal: 'WAITING_FOR_SIGNAL',
  RunsSleeping: 'SLEEPING',
  RunsEnding: 'ENDING',
} as const satisfies Partial<Record<MetricName, string>>;

function runRow(measured: MonitoredResources): IWidget[] {
  const gauges = Object.entries(STATUSES).map(([metric, label]) =>
    waitstateMetric(measured, 'gauge', metric as keyof typeof STATUSES, 'Maximum', label),
  );
  return [
    graph('Runs by status (counted up to 1,000 each)', gauges, [], true),
    graph('Runs that ended', [
      waitstateMetric(measured, 'notify', 'RunSucceeded', 'Sum', 'SUCCEEDED'),
      waitstateMetric(measured, 'notify', 'RunFailed', 'Sum', 'FAILED'),
      waitstateMetric(measured, 'notify', 'RunCancelled', 'Sum', 'CANCELLED'),
    ]),
    graph('Oldest READY (s)', [waitstateMetric(measured, 'gauge', 'OldestReadySeconds', 'Maximum', 'oldest READY')]),
  ];
}

const waitRow = (measured: MonitoredResources): IWidget[] => [
  graph('Approvals that wait', [
    waitstateMetric(measured, 'gauge', 'RunsWaitingForApproval', 'Maximum', 'runs that wait'),
    waitstateMetric(measured, 'gauge', 'ApprovalsDueSoon', 'Maximum', 'due within a day'),
  ]),
  graph('Oldest question (s)', [
    waitstateMetric(measured, 'gauge', 'OldestApprovalSeconds', 'Maximum', 'oldest question'),
  ]),
  graph('Answers, and people told', [
    waitstateMetric(measured, 'api', 'DecisionRecorded', 'Sum', 'answers'),
    waitstateMetric(measured, 'notify', 'Notified', 'Sum', 'told'),
    waitstateMetric(measured, 'notify', 'NotificationFailed', 'Sum', 'not told'),
  ]),
];

const flowRow = (measured: MonitoredResources): IWidget[] => [
  graph('Lag of the stream (ms)', [
    measured.handlers.resume.metric('IteratorAge', { label: 'resume', statistic: 'Maximum', period }),
    measured.handlers.notify.metric('IteratorAge', { label: 'notify', statistic: 'Maximum', period }),
  ]),
  graph('Deliveries and retries', [
    waitstateMetric(measured, 'resume', 'Delivered', 'Sum', 'delivered'),
    waitstateMetric(measured, 'resume', 'DeliveryFailed', 'Sum', 'failed'),
    waitstateMetric(measured, 'sweep', 'SweepDelivered', 'Sum', 'by the sweeper'),
    waitstateMetric(measured, 'sweep', 'SweepRedelivered', 'Sum', 'again'),
  ]),
  graph('Conflicts and dead letters', [
    tableMetric(measured, 'ConditionalCheckFailedRequests', 'conditions that failed'),
    tableMetric(measured, 'TransactionConflict', 'transactions that met'),
    measured.deadLetterQueue.metricApproximateNumberOfMessagesVisible({
      label: 'dead letters',
      statistic: 'Maximum',
      period,
    }),
  ]),
];

const errorRow = (measured: MonitoredResources): IWidget[] => [
  graph(
    'Handlers: errors, throttles',
    functionMetrics(Object.entries(measured.handlers), (of, options) => of.metricErrors(options)),
    functionMetrics(Object.entries(measured.handlers), (of, options) => of.metricThrottles(options)),
  ),
  graph('Table: throttled requests', [throttledRequests(measured)]),
];

const apiRow = (measured: MonitoredResources): IWidget[] => [
  graph(
    'API: requests',
    measured.apis.map((api, at) => api.metricCount({ label: `requests ${at + 1}`, statistic: 'Sum', period })),
    measured.apis.flatMap((api, at) => [
      api.metricClientError({ label: `4xx ${at + 1}`, statistic: 'Sum', period }),
      api.metricServerError({ label: `5xx ${at + 1}`, statistic: 'Sum', period }),
    ]),
  ),
  graph(
    'API: latency (ms, p90)',
    measured.apis.map((api, at) => api.metricLatency({ label: `latency ${at + 1}`, statistic: 'p90', period })),
  ),
];

const costRow = (scope: Construct, measured: MonitoredResources): IWidget[] => [
  graph('Cost: units of DynamoDB', [
    tableMetric(measured, 'ConsumedWriteCapacityUnits', 'written'),
    tableMetric(measured, 'ConsumedReadCapacityUnits', 'read'),
  ]),
  graph(
    'Cost: time of functions (ms)',
    functionMetrics(Object.entries(measured.handlers), (of, options) =>
      of.metricDuration({ ...options, statistic: 'Sum' }),
    ),
    [],
    true,
  ),
  graph('Cost: bytes in the bucket', [bucketSizeMetric(scope, measured)]),
];
