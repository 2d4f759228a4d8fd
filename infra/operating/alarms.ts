import { Duration } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { escapeId } from '../../lambda/core/ids.ts';
import {
  functionMetrics,
  type MonitoredResources,
  PERIOD,
  sumMetric,
  throttledRequests,
  waitstateMetric,
} from './metrics.ts';

interface AlarmRule {
  readonly metric: IMetric;
  /** What happened, for the person on call; docs/guides/operating.md says what to do. */
  readonly description: string;
  /** The alarm fires above this value. @default 0 */
  readonly above?: number;
  /** The alarm fires below this value, instead of above one. */
  readonly below?: number;
  /** The number of periods that must breach. @default 1 */
  readonly datapointsToAlarm?: number;
  /** The number of periods to look at. Retries with backoff leave gaps between them. @default `datapointsToAlarm` */
  readonly evaluationPeriods?: number;
  /** Whether missing data counts as a breach. @default false */
  readonly alarmsOnMissingData?: boolean;
}

/** The alarms of a Waitstate. Their ids are headings of docs/guides/operating.md. */
export class Alarms extends Construct {
  readonly all: Alarm[];
  readonly #topic: ITopic;

  constructor(
    scope: Construct,
    id: string,
    { topic, monitored }: { readonly topic: ITopic; readonly monitored: MonitoredResources },
  ) {
    super(scope, id);
    this.#topic = topic;
    this.all = Object.entries(alarmRules(monitored)).map(([name, rule]) => this.#create(name, name, rule));
  }

  /** Adds the alarms on the function of an agent. */
  addAgent(agent: string, fn: IFunction): void {
    const id = escapeId('agent', agent);
    for (const [heading, rule] of Object.entries(agentAlarmRules(agent, fn)))
      this.all.push(this.#create(`${heading}-${id}`, heading, rule));
  }

  /** Creates an alarm; `heading` is where the docs explain it. */
  #create(id: string, heading: string, rule: AlarmRule): Alarm {
    const { metric, description, above = 0, below } = rule;
    const { datapointsToAlarm = 1, evaluationPeriods = datapointsToAlarm, alarmsOnMissingData = false } = rule;
    const alarm = new Alarm(this, id, {
      metric,
      alarmDescription: `${description} See "${heading}" in docs/guides/operating.md of Waitstate.`,
      threshold: below ?? above,
      comparisonOperator:
        below === undefined ? ComparisonOperator.GREATER_THAN_THRESHOLD : ComparisonOperator.LESS_THAN_THRESHOLD,
      evaluationPeriods,
      datapointsToAlarm,
      treatMissingData: alarmsOnMissingData ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    });
    const action = new SnsAction(this.#topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
    return alarm;
  }
}

/** The alarms on the function of an agent. */
const agentAlarmRules = (agent: string, fn: IFunction): Readonly<Record<string, AlarmRule>> => ({
  AgentErrors: {
    metric: fn.metricErrors({ period: PERIOD }),
    datapointsToAlarm: 2,
    description: `The function of agent "${agent}" keeps failing.`,
  },
  AgentThrottles: {
    metric: fn.metricThrottles({ period: PERIOD }),
    datapointsToAlarm: 2,
    description: `Lambda keeps throttling the function of agent "${agent}".`,
  },
});

/** An hour in periods of five minutes. */
const PERIODS_PER_HOUR = 12;

function alarmRules(monitored: MonitoredResources): Readonly<Record<string, AlarmRule>> {
  const { handlers, apis, deadLetterQueue, sweepMinutes } = monitored;
  const functions = Object.entries(handlers);
  const period = PERIOD;
  const twoSweeps = Duration.minutes(Math.max(PERIOD.toMinutes(), 2 * sweepMinutes));
  return {
    OldestReady: {
      metric: waitstateMetric(monitored, 'gauge', 'OldestReadySeconds', 'Maximum', 'oldest READY, seconds'),
      above: 300,
      datapointsToAlarm: 2,
      description: 'A run has been READY for more than five minutes, and no agent claimed it.',
    },
    SweepNotRunning: {
      metric: handlers.sweep.metricInvocations({ period: twoSweeps }),
      below: 1,
      datapointsToAlarm: 2,
      alarmsOnMissingData: true,
      description: 'The sweeper does not run: timers, deadlines and lost wake-ups wait for it.',
    },
    ResumeLag: {
      metric: handlers.resume.metric('IteratorAge', { statistic: 'Maximum', period }),
      above: 60_000,
      datapointsToAlarm: 2,
      description: 'Runs that are READY reach their agents more than a minute late.',
    },
    NotifyLag: {
      metric: handlers.notify.metric('IteratorAge', { statistic: 'Maximum', period }),
      above: 300_000,
      datapointsToAlarm: 2,
      description: 'The ends of runs are published more than five minutes late.',
    },
    RunFailures: {
      metric: waitstateMetric(monitored, 'notify', 'RunFailed', 'Sum', 'failed runs'),
      description: 'A run failed.',
    },
    DeadLetters: {
      metric: deadLetterQueue.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum', period }),
      description: 'An event failed after all retries and is in the dead-letter queue.',
    },
    HandlerErrors: {
      metric: sumMetric(
        'errors',
        functionMetrics(functions, (fn, options) => fn.metricErrors(options)),
      ),
      datapointsToAlarm: 2,
      description: 'A handler of Waitstate keeps failing.',
    },
    HandlerThrottles: {
      metric: sumMetric(
        'throttles',
        functionMetrics(functions, (fn, options) => fn.metricThrottles(options)),
      ),
      datapointsToAlarm: 2,
      description: 'Lambda keeps throttling handlers of Waitstate, because no concurrency is left for them.',
    },
    TableThrottles: {
      metric: throttledRequests(monitored),
      datapointsToAlarm: 2,
      description: 'DynamoDB keeps throttling requests to the table.',
    },
    ApiErrors: {
      metric: sumMetric(
        '5xx',
        apis.map((api) => api.metricServerError({ period })),
      ),
      datapointsToAlarm: 2,
      description: 'The API keeps returning 5xx responses.',
    },
    ApprovalsDueSoon: {
      metric: waitstateMetric(monitored, 'gauge', 'ApprovalsDueSoon', 'Maximum', 'pending approvals, due within a day'),
      description: 'A pending approval expires within a day.',
    },
    NotificationFailures: {
      metric: sumMetric('failed notifications', [
        waitstateMetric(monitored, 'notify', 'NotificationFailed', 'Sum', 'notify'),
        waitstateMetric(monitored, 'sweep', 'NotificationFailed', 'Sum', 'sweep'),
      ]),
      datapointsToAlarm: 2,
      evaluationPeriods: PERIODS_PER_HOUR,
      description: 'Notifications about approvals could not be sent.',
    },
    DeliveryFailures: {
      metric: sumMetric('failed deliveries', [
        waitstateMetric(monitored, 'resume', 'DeliveryFailed', 'Sum', 'resume'),
        waitstateMetric(monitored, 'resume', 'UnknownAgent', 'Sum', 'resume, unknown agent'),
        waitstateMetric(monitored, 'sweep', 'DeliveryFailed', 'Sum', 'sweep'),
        waitstateMetric(monitored, 'sweep', 'UnknownAgent', 'Sum', 'sweep, unknown agent'),
      ]),
      datapointsToAlarm: 2,
      evaluationPeriods: PERIODS_PER_HOUR,
      description: 'Runs could not be delivered to their agents, or their agent is unknown.',
    },
    SweepFailed: {
      metric: waitstateMetric(monitored, 'sweep', 'SweepFailed', 'Sum', 'failed runs').with({ period: twoSweeps }),
      datapointsToAlarm: 3,
      evaluationPeriods: PERIODS_PER_HOUR,
      description: 'The sweeper keeps failing on some runs.',
    },
  };
}
