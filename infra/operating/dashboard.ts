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
import { each, type Measured, ofTable, ours, PERIOD, stored, throttled } from './measures.ts';

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
    { measured, alarms }: { readonly measured: Measured; readonly alarms: readonly Alarm[] },
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

function runRow(measured: Measured): IWidget[] {
  const gauges = Object.entries(STATUSES).map(([metric, label]) =>
    ours(measured, 'gauge', metric as keyof typeof STATUSES, 'Maximum', label),
  );
  return [
    graph('Runs by status (counted up to 1,000 each)', gauges, [], true),
    graph('Runs that ended', [
      ours(measured, 'notify', 'RunSucceeded', 'Sum', 'SUCCEEDED'),
      ours(measured, 'notify', 'RunFailed', 'Sum', 'FAILED'),
      ours(measured, 'notify', 'RunCancelled', 'Sum', 'CANCELLED'),
    ]),
    graph('Oldest READY (s)', [ours(measured, 'gauge', 'OldestReadySeconds', 'Maximum', 'oldest READY')]),
  ];
}

const waitRow = (measured: Measured): IWidget[] => [
  graph('Approvals that wait', [
    ours(measured, 'gauge', 'RunsWaitingForApproval', 'Maximum', 'runs that wait'),
    ours(measured, 'gauge', 'ApprovalsDueSoon', 'Maximum', 'due within a day'),
  ]),
  graph('Oldest question (s)', [ours(measured, 'gauge', 'OldestApprovalSeconds', 'Maximum', 'oldest question')]),
  graph('Answers, and people told', [
    ours(measured, 'api', 'ApprovalAnswered', 'Sum', 'answers'),
    ours(measured, 'notify', 'Told', 'Sum', 'told'),
    ours(measured, 'notify', 'TellingFailed', 'Sum', 'not told'),
  ]),
];

const flowRow = (measured: Measured): IWidget[] => [
  graph('Lag of the stream (ms)', [
    measured.handlers.resume.metric('IteratorAge', { label: 'resume', statistic: 'Maximum', period }),
    measured.handlers.notify.metric('IteratorAge', { label: 'notify', statistic: 'Maximum', period }),
  ]),
  graph('Deliveries and retries', [
    ours(measured, 'resume', 'Delivered', 'Sum', 'delivered'),
    ours(measured, 'resume', 'DeliveryFailed', 'Sum', 'failed'),
    ours(measured, 'sweep', 'SweepDelivered', 'Sum', 'by the sweeper'),
    ours(measured, 'sweep', 'SweepRedelivered', 'Sum', 'again'),
  ]),
  graph('Conflicts and dead letters', [
    ofTable(measured, 'ConditionalCheckFailedRequests', 'conditions that failed'),
    ofTable(measured, 'TransactionConflict', 'transactions that met'),
    measured.deadLetterQueue.metricApproximateNumberOfMessagesVisible({
      label: 'dead letters',
      statistic: 'Maximum',
      period,
    }),
  ]),
];

const errorRow = (measured: Measured): IWidget[] => [
  graph(
    'Handlers: errors, throttles',
    each(Object.entries(measured.handlers), (of, options) => of.metricErrors(options)),
    each(Object.entries(measured.handlers), (of, options) => of.metricThrottles(options)),
  ),
  graph('Table: throttled requests', [throttled(measured)]),
];

const apiRow = (measured: Measured): IWidget[] => [
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

const costRow = (scope: Construct, measured: Measured): IWidget[] => [
  graph('Cost: units of DynamoDB', [
    ofTable(measured, 'ConsumedWriteCapacityUnits', 'written'),
    ofTable(measured, 'ConsumedReadCapacityUnits', 'read'),
  ]),
  graph(
    'Cost: time of functions (ms)',
    each(Object.entries(measured.handlers), (of, options) => of.metricDuration({ ...options, statistic: 'Sum' })),
    [],
    true,
  ),
  graph('Cost: bytes in the bucket', [stored(scope, measured)]),
];
