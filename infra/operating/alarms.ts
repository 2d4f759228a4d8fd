import { Duration } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import {
  functionMetrics,
  type MonitoredResources,
  PERIOD,
  sumMetric,
  throttledRequests,
  waitstateMetric,
} from './metrics.ts';

/** When somebody must look. */
interface AlarmWhen {
  readonly metric: IMetric;
  /** What it says to whoever is called; docs/guides/operating.md says what to do. */
  readonly says: string;
  /** @default above 0 */
  readonly above?: number;
  /** Instead of above. */
  readonly below?: number;
  /** In how many periods. @default 1 */
  readonly times?: number;
  /** Within how many periods: what is tried again later each time comes with gaps. @default in a row */
  readonly within?: number;
  /** Whether silence is a reason, too. @default false */
  readonly whenSilent?: boolean;
}

/** Alarms on what nobody would see otherwise. Their ids are the headings of docs/guides/operating.md. */
export class Alarms extends Construct {
  readonly all: readonly Alarm[];

  constructor(
    scope: Construct,
    id: string,
    { topic, measured }: { readonly topic: ITopic; readonly measured: MonitoredResources },
  ) {
    super(scope, id);
    const action = new SnsAction(topic);
    this.all = Object.entries(whenToLook(measured)).map(([name, when]) => {
      const { metric, says, above = 0, below, times = 1, within = times, whenSilent = false } = when;
      const alarm = new Alarm(this, name, {
        metric,
        alarmDescription: `${says} See "${name}" in docs/guides/operating.md of Waitstate.`,
        threshold: below ?? above,
        comparisonOperator:
          below === undefined ? ComparisonOperator.GREATER_THAN_THRESHOLD : ComparisonOperator.LESS_THAN_THRESHOLD,
        evaluationPeriods: within,
        datapointsToAlarm: times,
        treatMissingData: whenSilent ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
      });
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
      return alarm;
    });
  }
}

/** Twelve periods: an hour, or more where sweeps are rare. */
const HOUR = 12;

function whenToLook(measured: MonitoredResources): Readonly<Record<string, AlarmWhen>> {
  const { handlers, apis, deadLetterQueue, sweepMinutes } = measured;
  const functions = Object.entries(handlers);
  const period = PERIOD;
  const twoSweeps = Duration.minutes(Math.max(PERIOD.toMinutes(), 2 * sweepMinutes));
  return {
    OldestReady: {
      metric: waitstateMetric(measured, 'gauge', 'OldestReadySeconds', 'Maximum', 'oldest READY, seconds'),
      ...{ above: 300, times: 2, says: 'A run has been READY for more than five minutes, and no agent took it.' },
    },
    SweepNotRunning: {
      metric: handlers.sweep.metricInvocations({ period: twoSweeps }),
      ...{
        below: 1,
        times: 2,
        whenSilent: true,
        says: 'The sweeper did not run: timers, deadlines and lost wake-ups wait.',
      },
    },
    ResumeLag: {
      metric: handlers.resume.metric('IteratorAge', { statistic: 'Maximum', period }),
      ...{ above: 60_000, times: 2, says: 'Runs that are ready reach their agents more than a minute late.' },
    },
    DeadLetters: {
      metric: deadLetterQueue.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum', period }),
      says: 'Something was given up after all tries.',
    },
    HandlerErrors: {
      metric: sumMetric(
        'errors',
        functionMetrics(functions, (of, options) => of.metricErrors(options)),
      ),
      ...{ times: 2, says: 'A handler of Waitstate keeps failing.' },
    },
    HandlerThrottles: {
      metric: sumMetric(
        'throttles',
        functionMetrics(functions, (of, options) => of.metricThrottles(options)),
      ),
      ...{
        times: 2,
        says: 'Lambda keeps refusing to run handlers of Waitstate: there is no concurrency left for them.',
      },
    },
    TableThrottles: {
      metric: throttledRequests(measured),
      ...{ times: 2, says: 'DynamoDB keeps refusing requests to the table.' },
    },
    ApiErrors: {
      metric: sumMetric(
        '5xx',
        apis.map((api) => api.metricServerError({ period })),
      ),
      ...{ times: 2, says: 'The API keeps answering with errors of its own.' },
    },
    ApprovalsDueSoon: {
      metric: waitstateMetric(measured, 'gauge', 'ApprovalsDueSoon', 'Maximum', 'open approvals, due within a day'),
      says: 'Approvals that nobody has answered end within a day.',
    },
    NotificationFailures: {
      metric: sumMetric('not told', [
        waitstateMetric(measured, 'notify', 'NotificationFailed', 'Sum', 'notify'),
        waitstateMetric(measured, 'sweep', 'NotificationFailed', 'Sum', 'sweep'),
      ]),
      ...{ times: 2, within: HOUR, says: 'People could not be told of approvals.' },
    },
    DeliveryFailures: {
      metric: sumMetric('not delivered', [
        waitstateMetric(measured, 'resume', 'DeliveryFailed', 'Sum', 'resume'),
        waitstateMetric(measured, 'resume', 'UnknownAgent', 'Sum', 'resume, unknown agent'),
        waitstateMetric(measured, 'sweep', 'DeliveryFailed', 'Sum', 'sweep'),
        waitstateMetric(measured, 'sweep', 'UnknownAgent', 'Sum', 'sweep, unknown agent'),
      ]),
      ...{ times: 2, within: HOUR, says: 'Runs could not be brought to their agents, or nobody knows the agent.' },
    },
    SweepFailed: {
      metric: waitstateMetric(measured, 'sweep', 'SweepFailed', 'Sum', 'not swept').with({ period: twoSweeps }),
      ...{ times: 3, within: HOUR, says: 'The same runs keep failing to be swept.' },
    },
  };
}
